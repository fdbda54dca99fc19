package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestMoversAreADiff uses random scopes and instants, many of them those of a
// capture, in pages of any size: the movers, their order and their counts match
// a look at every row: TOOL-01b, VIS-04.
func TestMoversAreADiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 61, 0)
	w.reports()
	w.restless(rand.New(rand.NewPCG(61, 1)), 900)
	w.withOwnPrices()
	seen := map[query.MoverKind]int{}
	effort.CheckOften(t, 10, 50, func(rt *rapid.T) {
		instant := func(name string, least, most int) time.Time {
			at := w.now.Add(-time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Minute)
			if row := time.UnixMilli(rapid.SampledFrom(w.rows).Draw(rt, name+" row").ms).UTC(); rapid.Bool().Draw(rt, name+" at a capture") && w.now.Sub(row) <= 168*time.Hour {
				at = row
			}
			return at
		}
		since, until := instant("since", 0, 168*60), w.now
		r := query.MoversRequest{
			Since:       since.Format(time.RFC3339Nano),
			Kind:        rapid.SampledFrom(append(query.MoverKinds(), "", "", "", "", "", "", "", "", "")).Draw(rt, "kind"),
			OwnMerchant: rapid.SampledFrom([]string{"", "", "Merchant B"}).Draw(rt, "own"),
		}
		if later := instant("until", 0, 48*60); rapid.Bool().Draw(rt, "has until") && !later.Before(since) {
			r.Until, until = later.Format(time.RFC3339Nano), later
		}
		r.Limit = ptr(rapid.SampledFrom([]int{2, 7, 1000, 1000}).Draw(rt, "limit"))
		switch rapid.IntRange(0, 5).Draw(rt, "scope") {
		case 0:
			r.ItemID = 4
		case 1:
			r.OrderID = orderB
		case 2:
			r.Site = "gamma.example"
		case 3:
			r.EAN = "96385074"
		case 4:
			r.GlobalScope = true
		case 5:
			r.Brand, r.GlobalScope = "A", true
		}
		account := rapid.SampledFrom([]contracts.AccountID{accountWhole, accountWhole, accountOrder, accountSites, accountNone, accountOther}).Draw(rt, "account")
		want, added := w.bruteMovers(account, r, since, until)
		got, echo := w.movers(rt, account, r, nil)
		for kind, n := range echo.Kinds {
			seen[kind] += n
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			rt.Fatalf("account %d, %+v (-want +got):\n%s", account, r, diff)
		}
		added.Scope, added.Since, added.Until, added.Timezone, added.Pairs = echo.Scope, echo.Since, echo.Until, echo.Timezone, echo.Pairs
		if diff := gocmp.Diff(added, echo, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("account %d, %+v (-want +got):\n%s", account, r, diff)
		}
	})
	for hours := 1; hours <= 168; hours += effort.Often(33, 8) {
		for _, own := range []string{"", "Merchant B", `Merchant "A"`} {
			since := w.now.Add(-time.Duration(hours) * time.Hour)
			r := query.MoversRequest{
				Since: since.Format(time.RFC3339Nano), OwnMerchant: own, ResultsRequest: query.ResultsRequest{GlobalScope: true, Limit: ptr(1000)},
			}
			got, echo := w.movers(t, accountWhole, r, nil)
			if want, _ := w.bruteMovers(accountWhole, r, since, w.now); !slices.Equal(want, got) {
				t.Errorf("%d hours, own %q (-want +got):\n%s", hours, own, gocmp.Diff(want, got))
			}
			for kind, n := range echo.Kinds {
				seen[kind] += n
			}
		}
	}
	for _, kind := range query.MoverKinds() {
		if seen[kind] == 0 {
			t.Errorf("no pair was %s: %v", kind, seen)
		}
	}
}

// TestMoversEdges has captures at the edges of what is compared: a capture at
// since counts as before, the comparison looks back up to 168 hours before
// since, and a late capture counts at its capture time (TOOL-01b).
func TestMoversEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 64, 0)
	since := w.now.Add(-24 * time.Hour)
	at := func(item uint64, d time.Duration, price int64) obsRow {
		w.mark++
		return obsRow{item: item, site: "alpha.example", ms: since.Add(d).UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: price, merchant: "M"}
	}
	const ms, week, day = time.Millisecond, 168 * time.Hour, 24 * time.Hour
	w.write([]obsRow{
		at(1, -week, 100), at(1, ms, 200), // the oldest that counts
		at(2, -week-ms, 100), at(2, day, 200), // too old; at now
		at(3, 0, 100), at(3, -ms, 300), // at since, without a later change
		at(4, 0, 100), at(4, ms, 100), at(4, -ms, 300), // the same again
	})
	w.setMark(w.mark)
	r := query.MoversRequest{Since: since.Format(time.RFC3339Nano), ResultsRequest: query.ResultsRequest{Site: "alpha.example"}}
	kinds := func() (kinds []string) {
		page := must.Get(w.service.Movers(t.Context(), query.Principal{Account: accountWhole}, r))(t)
		for _, m := range page.Data {
			kinds = append(kinds, fmt.Sprint(m.ItemID, " ", m.Kinds))
		}
		return kinds
	}
	want := []string{"1 [PRICE_UP]", "2 [NEW_OFFER]"}
	equals.Check(t, want, kinds())
	w.write([]obsRow{at(3, -time.Hour, 999), at(1, -time.Hour, 999), at(2, day+ms, 999)}) // late, and ahead of now
	w.setMark(w.mark)
	want = []string{"1 [PRICE_DOWN]", "2 [NEW_OFFER]"}
	equals.Checkf(t, want, kinds(), "late captures")
	r.Since = since.Add(time.Millisecond - 1).Format(time.RFC3339Nano) // between two milliseconds: the earlier one counts
	equals.Checkf(t, want, kinds(), "finer than a millisecond")
	r.Since, r.Timezone = "2026-03-07", "Asia/Tokyo" // from the first instant of the day there
	equals.Checkf(t, []string{"1 [PRICE_UP]", "2 [PRICE_UP]", "3 [NEW_OFFER]", "4 [NEW_OFFER]"}, kinds(), "a date")
}

// TestMoversAreASnapshot lets captures arrive, early and late ones, while the
// pages are read: they show what the first page saw, each pair once.
func TestMoversAreASnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 62, 0)
	r := rand.New(rand.NewPCG(62, 1))
	w.restless(r, 1_800)
	for i, limit := range []int{2, 5}[:effort.Often(1, 2)] {
		w.mark++
		var ahead []obsRow // ahead of now when the first page is read
		for item := range uint64(4) {
			ahead = append(ahead, obsRow{
				item: 1 + item, site: "gamma.example", ms: w.now.UnixMilli() + 1, epoch: epoch, seq: w.mark, capture: uint16(item),
				outcome: contracts.PriceObserved, price: 777, merchant: "Ahead",
			})
		}
		w.write(ahead)
		w.setMark(w.mark)
		req := query.MoversRequest{Since: w.now.Add(-30 * time.Hour).Format(time.RFC3339), ResultsRequest: query.ResultsRequest{OrderID: orderA, Limit: ptr(1000)}}
		if i == 0 {
			req.Until = w.now.Add(24 * time.Hour).Format(time.RFC3339) // which is now, and later on each page
		}
		whole, _ := w.movers(t, accountWhole, req, nil)
		if len(whole) < 5 {
			t.Fatalf("only %d movers", len(whole))
		}
		began := w.now
		req.Limit = &limit
		got, _ := w.movers(t, accountWhole, req, func() {
			w.now = w.now.Add(time.Minute)
			w.restless(r, 40)
		})
		if diff := gocmp.Diff(whole, got); diff != "" || !w.now.After(began) {
			t.Errorf("walk %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestMoversWalkPastAWeek: a walk over everything that began with the longest
// window goes on when since is further back than that.
func TestMoversWalkPastAWeek(t *testing.T) {
	w := newWorld(t, 66, 0)
	w.restless(rand.New(rand.NewPCG(66, 1)), 300)
	req := query.MoversRequest{
		Since:          w.now.Add(-168*time.Hour + time.Minute).Format(time.RFC3339),
		ResultsRequest: query.ResultsRequest{GlobalScope: true, Limit: ptr(1000)},
	}
	whole, _ := w.movers(t, accountWhole, req, nil)
	if len(whole) < 4 {
		t.Fatalf("only %d movers", len(whole))
	}
	req.Limit = ptr(len(whole)/2 + 1)
	got, _ := w.movers(t, accountWhole, req, func() { w.now = w.now.Add(2 * time.Minute) })
	equals.Check(t, whole, got)
	if _, err := w.service.Movers(t.Context(), query.Principal{Account: accountWhole}, req); err == nil {
		t.Error("a new walk over more than 168 hours is accepted")
	}
}

// TestMoversOfAnotherScope: a product that the caller no longer sees, or sees
// now, neither hides nor repeats the movers that it sees all the time
// (CUR-01a).
func TestMoversOfAnotherScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 65, 0)
	var rows []obsRow
	at := func(item uint64, site string, prices ...int64) {
		for i, price := range prices {
			w.mark++
			rows = append(rows, obsRow{
				item: item, site: site, ms: w.now.Add(time.Duration(i-len(prices)) * time.Hour).UnixMilli(), epoch: epoch, seq: w.mark,
				outcome: contracts.PriceObserved, price: price, merchant: "M",
			})
		}
	}
	at(1, "alpha.example", 100, 400)
	at(2, "gamma.example", 100, 300)
	at(3, "alpha.example", 100, 200)
	at(3, "gamma.example", 100, 200)
	w.add(rows)
	r := query.MoversRequest{Since: w.now.Add(-90 * time.Minute).Format(time.RFC3339), ResultsRequest: query.ResultsRequest{OrderID: orderA, Limit: ptr(1)}}
	sees := func(sites string) {
		w.exec("INSERT INTO accounts SELECT * REPLACE (version + 1 AS version, false AS all_sites, ? AS sites) FROM accounts FINAL WHERE account = 11", strings.Fields(sites))
	}
	from := func(cursor string) (movers string, first string) {
		for r.Cursor = cursor; ; {
			p := must.Get(w.service.Movers(t.Context(), query.Principal{Account: accountWhole}, r))(t)
			for _, m := range p.Data {
				movers += fmt.Sprintf("%s %.1s, ", m.ItemID, m.Site)
			}
			first = cmp.Or(first, p.Paging.NextCursor)
			if r.Cursor = p.Paging.NextCursor; r.Cursor == "" {
				return movers, first
			}
		}
	}
	all, first := from("")
	if all != "1 a, 2 g, 3 a, 3 g, " {
		t.Fatal(all)
	}
	sees("gamma.example")
	if got, _ := from(first); got != "2 g, 3 g, " {
		t.Errorf("at fewer sites: %s", got)
	}
	_, first = from("")
	sees("alpha.example gamma.example")
	if got, _ := from(first); got != "3 a, 3 g, " {
		t.Errorf("at more sites: %s", got)
	}
	// A cursor of build 1710d9d, after the first mover.
	const old = "MziPDXnlXBu6VrI8eih_ebaBLLI1agrwAQzUlGAHwwQltJNSLpJn5XT8WHcaBANCafAJ4_Odice79Q9NZsR37GcUjHtD8sdxFy38o3YKGR6NRJvYpiMBrsL5ThUNGKZijRVXJ0LvzbUVKM6UE7lerwvyPKoDq1lT0I-tNc2nTyNTimFMERe5ZV7AlaipUVWK_vIaiJvdCI2DAhk"
	if got, _ := from(old); got != "2 g, 3 a, 3 g, " {
		t.Errorf("from an old cursor: %s", got)
	}
}
