package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// restless adds about n captures of twelve days whose states change, and
// often do not: few prices, two merchants, two currencies, every outcome, and
// first offers without a price. Item 5 is new: it has been there for two days.
func (w *world) restless(r *rand.Rand, n int) {
	w.t.Helper()
	outcomes := []contracts.Outcome{
		contracts.Unavailable, contracts.Unavailable, contracts.ProductNotFound, contracts.OutcomeUnknown, contracts.AccessRestricted, contracts.SiteUnavailable,
	}
	var fresh []obsRow
	for range n {
		w.mark++
		base := obsRow{
			item: 1 + r.Uint64N(6), site: worldSites[r.IntN(len(worldSites))], epoch: epoch, seq: w.mark,
			ms: w.now.Add(-time.Duration(r.IntN(12*24*4)) * 15 * time.Minute).UnixMilli(), outcome: outcomes[r.IntN(len(outcomes))], price: -1,
		}
		if base.item == 5 {
			base.ms = w.now.Add(-time.Duration(r.IntN(2*24*4)) * 15 * time.Minute).UnixMilli()
		}
		if r.IntN(3) > 0 {
			base.outcome = contracts.PriceObserved
		}
		if base.outcome != contracts.PriceObserved {
			fresh = append(fresh, base)
			continue
		}
		for offer := range uint16(1 + r.IntN(2)) {
			row := base
			row.offer, row.price = offer, []int64{999, 1299, 1299, 0}[r.IntN(4)]
			row.merchant = []string{"Merchant \"A\"", "Merchant B", ""}[r.IntN(3)]
			if r.IntN(5) == 0 {
				row.currency = "JPY"
			}
			if r.IntN(6) == 0 {
				row.price = -1
			}
			fresh = append(fresh, row)
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
	w.setMark(w.mark)
}

// stateOf is what a row of results says, as JSON values.
func stateOf(row map[string]any) any {
	if row == nil {
		return nil
	}
	state := map[string]any{}
	for _, field := range []string{"capturedAt", "availability", "price", "priceMoney", "currencyCode", "merchant", "coverageState"} {
		state[field] = row[field]
	}
	return state
}

// latest reads the newest row of each pair in a window, by pair.
func (w *world) latest(t require, a contracts.AccountID, r query.ChangesRequest, from, to time.Time) map[string]map[string]any {
	p, err := w.service.Results(w.t.Context(), query.Principal{Account: a}, query.ResultsRequest{
		Limit: ptr(1000), OrderID: r.OrderID, ItemID: r.ItemID, EAN: r.EAN, Site: r.Site, GlobalScope: r.GlobalScope, Timezone: r.Timezone,
		LatestPerPair: true, Include: query.Include{Coverage: true},
		CapturedFrom: from.Format(time.RFC3339Nano), CapturedTo: to.Format(time.RFC3339Nano),
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	d := json.NewDecoder(bytes.NewReader(array(&p.Rows)))
	d.UseNumber()
	var rows []map[string]any
	if err := d.Decode(&rows); err != nil {
		t.Fatalf("%v", err)
	}
	by := map[string]map[string]any{}
	for _, row := range rows {
		by[fmt.Sprintf("%020s %s", row["itemId"], row["site"])] = row
	}
	return by
}

// changed compares two such reads by itself.
func changed(before, after map[string]map[string]any) []any {
	want := []any{}
	var pairs []string
	for pair := range after {
		pairs = append(pairs, pair)
	}
	slices.Sort(pairs)
	for _, pair := range pairs {
		b, a := before[pair], after[pair]
		differ := func(field string) bool { return !cmp.Equal(b[field], a[field]) }
		kind := ""
		switch {
		case b == nil:
			kind = "FIRST_OBSERVED"
		case differ("coverageState") && b["availability"] == "UNAVAILABLE" && a["availability"] == "AVAILABLE":
			kind = "BECAME_AVAILABLE"
		case differ("coverageState") && b["availability"] == "AVAILABLE" && a["availability"] == "UNAVAILABLE":
			kind = "BECAME_UNAVAILABLE"
		case differ("coverageState"):
			kind = "STATE_CHANGED"
		case differ("currencyCode") && (b["price"] == nil) == (a["price"] == nil):
			kind = "CURRENCY_CHANGED"
		case differ("priceMoney"):
			kind = "PRICE_CHANGED"
		case differ("merchant"):
			kind = "MERCHANT_CHANGED"
		default:
			continue
		}
		want = append(want, map[string]any{"itemId": a["itemId"], "site": a["site"], "change": kind, "before": stateOf(b), "after": stateOf(a)})
	}
	return want
}

// changes follows the cursors to the end. Differences are cut off: change_test
// has their oracle.
func (w *world) changes(t require, a contracts.AccountID, r query.ChangesRequest, between func(page int)) []any {
	all := []any{}
	for page := 0; ; page++ {
		p, err := w.service.Changes(w.t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if len(p.Data) != p.Paging.Returned || len(p.Data) > p.Paging.Limit || p.Paging.NextCursor != "" && len(p.Data) < p.Paging.Limit {
			t.Fatalf("page %d: %d changes, %+v", page, len(p.Data), p.Paging)
		}
		body, err := json.Marshal(p.Data)
		if err != nil {
			t.Fatalf("%v", err)
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var data []map[string]any
		if err := d.Decode(&data); err != nil {
			t.Fatalf("%v", err)
		}
		for _, c := range data {
			delete(c, "priceDifference")
			delete(c, "priceDifferencePercent")
			all = append(all, c)
		}
		if p.Paging.NextCursor == "" {
			return all
		}
		if page > 100 {
			t.Fatalf("%+v has no end", r)
		}
		r.Cursor = p.Paging.NextCursor
		if between != nil {
			between(page)
		}
	}
}

// TestChangesAreADiff asks for random scopes and instants, many of them those
// of a capture, in pages of any size: the changes are the difference between
// two latestPerPair reads, in order of item and site: TOOL-01b, VIS-04.
func TestChangesAreADiff(t *testing.T) {
	w := newWorld(t, 61, 0)
	w.restless(rand.New(rand.NewPCG(61, 1)), 900)
	rapid.Check(t, func(rt *rapid.T) {
		since := w.now.Add(-time.Duration(rapid.IntRange(0, 168*60).Draw(rt, "minutes")) * time.Minute)
		if rapid.Bool().Draw(rt, "at a capture") {
			if at := time.UnixMilli(rapid.SampledFrom(w.rows).Draw(rt, "row").ms).UTC(); w.now.Sub(at) <= 168*time.Hour {
				since = at
			}
		}
		r := query.ChangesRequest{
			Limit: ptr(rapid.SampledFrom([]int{2, 7, 1000, 1000}).Draw(rt, "limit")), Since: since.Format(time.RFC3339Nano),
			Timezone: rapid.SampledFrom([]string{"", "Europe/Berlin"}).Draw(rt, "zone"),
		}
		switch rapid.IntRange(0, 4).Draw(rt, "scope") {
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
		}
		account := rapid.SampledFrom([]contracts.AccountID{accountWhole, accountWhole, accountOrder, accountSites, accountNone, accountOther}).Draw(rt, "account")
		var after map[string]map[string]any
		if since.Before(w.now) {
			after = w.latest(rt, account, r, since.Add(time.Millisecond), w.now)
		}
		want := changed(w.latest(rt, account, r, since.Add(-168*time.Hour), since), after)
		if diff := cmp.Diff(want, w.changes(rt, account, r, nil)); diff != "" {
			rt.Fatalf("account %d, %+v (-want +got):\n%s", account, r, diff)
		}
	})
	seen := map[any]int{}
	for hours := 1; hours <= 168; hours += 8 {
		since := w.now.Add(-time.Duration(hours) * time.Hour).Format(time.RFC3339)
		for _, c := range w.changes(t, accountWhole, query.ChangesRequest{Since: since, GlobalScope: true}, nil) {
			seen[c.(map[string]any)["change"]]++
		}
	}
	for _, kind := range query.ChangeKinds() {
		if seen[string(kind)] == 0 {
			t.Errorf("no change was %s: %v", kind, seen)
		}
	}
}

// TestChangesEdges has captures at the edges of what is compared: since
// itself is before, 168 hours before it are looked back, and a capture that
// comes late is where it was made (TOOL-01b).
func TestChangesEdges(t *testing.T) {
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
		at(3, 0, 100), at(3, -ms, 300), // at since: no change after it
		at(4, 0, 100), at(4, ms, 100), at(4, -ms, 300), // the same again
	})
	w.setMark(w.mark)
	r := query.ChangesRequest{Since: since.Format(time.RFC3339Nano), Site: "alpha.example"}
	kinds := func() (kinds []string) {
		for _, c := range w.changes(t, accountWhole, r, nil) {
			c := c.(map[string]any)
			kinds = append(kinds, fmt.Sprint(c["itemId"], " ", c["change"]))
		}
		return kinds
	}
	want := []string{"1 PRICE_CHANGED", "2 FIRST_OBSERVED"}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.write([]obsRow{at(3, -time.Hour, 999), at(1, -time.Hour, 999), at(2, day+ms, 999)}) // late, and ahead of now
	w.setMark(w.mark)
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("late captures (-want +got):\n%s", diff)
	}
	r.Since = since.Add(time.Millisecond - 1).Format(time.RFC3339Nano) // between two milliseconds, the one before
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("finer than a millisecond (-want +got):\n%s", diff)
	}
}

// TestChangesAreASnapshot lets captures come in, early and late ones, while
// the pages are read: they are what the first page saw, each pair once.
func TestChangesAreASnapshot(t *testing.T) {
	w := newWorld(t, 62, 0)
	r := rand.New(rand.NewPCG(62, 1))
	w.restless(r, 600)
	for i, limit := range []int{1, 2, 3} {
		w.mark++
		var ahead []obsRow // of now, when the first page is read
		for item := range uint64(4) {
			ahead = append(ahead, obsRow{
				item: 1 + item, site: "gamma.example", ms: w.now.UnixMilli() + 1, epoch: epoch, seq: w.mark, capture: uint16(item),
				outcome: contracts.PriceObserved, price: 777, merchant: "Ahead",
			})
		}
		w.write(ahead)
		w.setMark(w.mark)
		req := query.ChangesRequest{Limit: &limit, Since: w.now.Add(-30 * time.Hour).Format(time.RFC3339), OrderID: orderA}
		whole := w.changes(t, accountWhole, query.ChangesRequest{Limit: ptr(1000), Since: req.Since, OrderID: orderA}, nil)
		if len(whole) < 6 {
			t.Fatalf("only %d changes", len(whole))
		}
		began := w.now
		got := w.changes(t, accountWhole, req, func(int) {
			w.now = w.now.Add(time.Minute)
			w.restless(r, 40)
		})
		if diff := cmp.Diff(whole, got); diff != "" || !w.now.After(began) {
			t.Errorf("walk %d (-want +got):\n%s", i, diff)
		}
	}
}
