package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// eventID returns the event id of a sequence; the ids of every third sequence
// are unknown.
func eventID(seq uint64) *string {
	if seq%3 == 0 {
		return nil
	}
	return ptr(fmt.Sprintf("00000000-0000-4000-8000-%012x", seq))
}

// visibleAt returns when a sequence became visible: from 5 on by the times kept
// for every tenth, and for the last ones by the checkpoint.
func visibleAt(seq, last uint64) *string {
	if seq <= 5 {
		return nil
	}
	if noted := (seq+4)/10*10 + 5; noted <= last {
		return ptr(notedAt(noted).Format("2006-01-02T15:04:05.000Z"))
	}
	return ptr("2026-03-09T00:00:00.000Z")
}

func notedAt(seq uint64) time.Time {
	return time.Date(2026, 3, 8, 20, 0, 0, 0, time.UTC).Add(time.Duration(seq) * 1_003 * time.Millisecond)
}

// TestEvidenceIsOfTheRow reads where rows come from, as every account, and
// compares it with a look at all rows; the read that names a row returns it
// again after others came at its instant: VIS-04.
func TestEvidenceIsOfTheRow(t *testing.T) {
	w := newWorld(t, 71, 0)
	w.reports()
	w.restless(rand.New(rand.NewPCG(71, 1)), 400)
	var events []string
	for seq := range w.mark {
		if id := eventID(seq + 1); id != nil {
			events = append(events, fmt.Sprintf("('%s', %d, %d, 1, 1)", *id, w.epoch, seq+1))
		}
	}
	w.exec("INSERT INTO ingested_events (event_id, epoch, seq, captures, rows) VALUES " + strings.Join(events, ", "))
	w.exec(`INSERT INTO orders (mandate, order_id, name, active, created_at, interval_minutes, counters, version) VALUES
		(1, 101, 'A', true, '2026-01-15 08:00:00', 60, [], 1), (1, 102, 'B', true, '2026-01-15 08:00:00', 240, [('market.example', 48, 0, 0)], 1)`)
	lastNoted := (w.mark-20)/10*10 + 5
	var noted []string
	for seq := uint64(5); seq <= lastNoted; seq += 10 {
		noted = append(noted, fmt.Sprintf("(0, %d, %d, fromUnixTimestamp64Milli(%d))", w.epoch, seq, notedAt(seq).UnixMilli()))
	}
	w.exec("INSERT INTO checkpoint_times VALUES " + strings.Join(noted, ", "))
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq, written_at) VALUES ('OBSERVATIONS', 0, ?, ?, '2026-03-09 00:00:00')", w.epoch, w.mark)
	due := map[contracts.OrderID]time.Duration{orderA: time.Hour, orderB: 4 * time.Hour}
	type shown struct{ captured, state, price, currency, merchant, event, next, visible, url string }
	text := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	read := func(a contracts.AccountID, again string) string {
		u, err := url.Parse(again)
		if err != nil || u.Path != "/v1/results" {
			t.Fatalf("%q: %v", again, err)
		}
		q := u.Query()
		item := must.Get(contracts.ParseID[contracts.ItemID](q.Get("itemId")))(t)
		page, err := w.service.Results(t.Context(), query.Principal{Account: a}, query.ResultsRequest{
			ItemID: item, Site: contracts.SiteKey(q.Get("site")), CapturedFrom: q.Get("capturedFrom"), CapturedTo: q.Get("capturedTo"),
			Cursor: q.Get("cursor"), Limit: ptr(1),
		})
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		defer page.Rows.Release()
		return fmt.Sprint(string(page.Rows.JSON()), " more: ", page.Paging.NextCursor != "")
	}
	links, seen, unseen, daily, ids := map[string]string{}, 0, 0, 0, map[string]bool{}
	some := slices.Clone(w.rows[:effort.Often(18, 30)])
	for _, row := range w.rows[len(some):] {
		if row.outcome == contracts.ProductNotFound && len(some)%6 < 4 {
			some = append(some, row)
		}
	}
	looked := len(some)
	for n, row := range some {
		for i, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
			if (n+i)%effort.Often(2, 1) > 0 {
				continue
			}
			r := query.EvidenceRequest{ItemID: contracts.ItemID(row.item), Site: contracts.SiteKey(row.site), CapturedAt: time.UnixMilli(row.ms).UTC().Format(time.RFC3339Nano)}
			if n%4 == 0 {
				r.Merchant = row.merchant
			}
			rows := w.oracle(a, query.ResultsRequest{ItemID: r.ItemID, Site: r.Site, Filters: query.Filters{Merchant: r.Merchant}}, row.ms, row.ms, w.rows)
			slices.SortFunc(rows, compareDesc)
			want, got := []shown{}, []shown{}
			for _, o := range rows {
				one := shown{
					captured: time.UnixMilli(o.ms).UTC().Format("2006-01-02T15:04:05.000Z"), state: coverage(o), price: "null", currency: "null",
					merchant: cmp.Or(o.merchant, "null"), event: text(eventID(o.seq)), next: "null", visible: text(visibleAt(o.seq, lastNoted)), url: "https://" + o.site + "/" + fmt.Sprint(o.item),
				}
				if o.price >= 0 {
					one.currency = cmp.Or(o.currency, "EUR")
					one.price = string(contracts.AppendMinor(nil, o.price, contracts.Currency(one.currency).Digits()))
				}
				every := time.Duration(0)
				for _, order := range w.visibleOrders(a, o.pair()) {
					d := due[order]
					if order == orderB && o.site == "market.example" {
						d = 30 * time.Minute // by the source's counters
					}
					if d > 0 && (every == 0 || d < every) {
						every = d
					}
				}
				if every > 0 && o.outcome == contracts.ProductNotFound {
					every = 24 * time.Hour // longer than any interval in due
					daily++
				}
				if every > 0 {
					one.next = time.UnixMilli(o.ms).Add(every).UTC().Format("2006-01-02T15:04:05.000Z")
				}
				want = append(want, one)
			}
			page, err := w.service.Evidence(t.Context(), query.Principal{Account: a}, r)
			if err != nil {
				t.Fatalf("account %d, %+v: %v", a, r, err)
			}
			for _, e := range page.Data {
				one := shown{e.CapturedAt, e.CoverageState, "null", "null", text(e.Merchant), text(e.EventID), text(e.NextDueAt), text(e.VisibleAt), text(e.ProductURL)}
				if e.Price != nil {
					one.price, one.currency = string(*e.Price), string(*e.CurrencyCode)
				}
				got = append(got, one)
				if e.RowID == "" {
					t.Errorf("%+v: %+v", r, e)
				}
				ids[fmt.Sprint(a == accountOther, " ", e.RowID)] = true
				if a == accountWhole {
					links[e.Again] = read(a, e.Again)
					if !strings.Contains(links[e.Again], `"capturedAt":"`+e.CapturedAt) || e.Merchant != nil && !strings.Contains(links[e.Again], (*e.Merchant)[:8]) {
						t.Errorf("%+v again: %s", e, links[e.Again])
					}
				}
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(shown{})); diff != "" {
				t.Fatalf("account %d, %+v (-want +got):\n%s", a, r, diff)
			}
			if page.Query.Rows != len(want) {
				t.Errorf("%d rows, said %d", len(want), page.Query.Rows)
			}
			if len(want) > 0 {
				seen++
			} else {
				unseen++
			}
		}
	}
	if least := looked / effort.Often(2, 1); seen < least || unseen < least || len(ids) < least || daily == 0 {
		t.Fatalf("%d seen, %d not, %d ids, %d not found", seen, unseen, len(ids), daily)
	}
	var late []obsRow
	for _, row := range some {
		w.mark++
		row.seq, row.merchant = w.mark, "Late"
		late = append(late, row)
	}
	w.write(late)
	w.setMark(w.mark)
	for link, before := range links {
		if now := read(accountWhole, link); now != before {
			t.Errorf("%s was\n%s\nand is\n%s", link, before, now)
		}
	}
}

// TestEvidenceNamesTheRowsOfTheFeed: a row has the same rowId in a feed and in
// evidence, at every node with the same key; with another key, and for another
// mandate, it has another one.
func TestEvidenceNamesTheRowsOfTheFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 73, 0)
	node := w.over(w.store, func(*query.Config) {})
	other := w.over(w.store, func(c *query.Config) { c.CursorKey = "another key of 32 bytes, at least" })
	feeds := []*feeder{{w: w, account: accountWhole}, {w: w, account: accountOther}}
	for _, f := range feeds {
		f.token = must.Get(f.now(query.ResultsRequest{}))(t)
		f.rows, f.ids = map[string]int{}, map[string]bool{}
	}
	w.insert(rand.New(rand.NewPCG(73, 1)), effort.Often(20, 40), 0)
	w.setMark(w.mark)
	type row struct{ item, site, captured, merchant, price string }
	ids := map[string]bool{}
	for _, f := range feeds {
		want, captures := map[string]row{}, map[query.EvidenceRequest]bool{}
		for _, r := range must.Get(f.follow(t, 7))(t) {
			var shown struct {
				Merchant string
				Price    json.Number
			}
			must.Do(t, json.Unmarshal([]byte(r.text), &shown))
			want[r.RowID] = row{r.ItemID, r.Site, r.CapturedAt, shown.Merchant, shown.Price.String()}
			captures[query.EvidenceRequest{ItemID: must.Get(contracts.ParseID[contracts.ItemID](r.ItemID))(t), Site: contracts.SiteKey(r.Site), CapturedAt: r.CapturedAt}] = true
			if ids[r.RowID] {
				t.Errorf("two mandates have %s", r.RowID)
			}
			ids[r.RowID] = true
		}
		for name, of := range map[string]*query.Service{"the node of the feed": w.service, "another node": node, "another key": other} {
			got := map[string]row{}
			for capture := range captures {
				for _, e := range must.Get(of.Evidence(t.Context(), query.Principal{Account: f.account}, capture))(t).Data {
					one := row{e.ItemID.String(), string(e.Site), e.CapturedAt, "", ""}
					if e.Merchant != nil {
						one.merchant = *e.Merchant
					}
					if e.Price != nil {
						one.price = e.Price.String()
					}
					got[e.RowID] = one
				}
			}
			if of == other {
				for id := range got {
					if ids[id] {
						t.Errorf("%s: %s is there, too", name, id)
					}
				}
				continue
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(row{})); diff != "" || len(got) < 10 {
				t.Errorf("account %d, %s (-feed +evidence):\n%s", f.account, name, diff)
			}
		}
	}
}

// TestEvidenceOfOneCapture: requests that name no capture are refused, and one
// of a crowd; the link to a row works where rows are kept for a time only.
func TestEvidenceOfOneCapture(t *testing.T) {
	w := newWorld(t, 72, 0)
	w.reports()
	for _, c := range []struct {
		r    query.EvidenceRequest
		want string
	}{
		{query.EvidenceRequest{Site: "alpha.example", CapturedAt: "2026-03-01T00:00:00Z"}, "itemId: missing"},
		{query.EvidenceRequest{ItemID: 1, CapturedAt: "2026-03-01T00:00:00Z"}, "site: missing"},
		{query.EvidenceRequest{ItemID: 1, Site: "alpha.example"}, "capturedAt: missing"},
		{query.EvidenceRequest{ItemID: 1, Site: "alpha.example", CapturedAt: "2026-03-01"}, "no instant"},
		{query.EvidenceRequest{ItemID: 1, Site: "alpha.example", CapturedAt: "yesterday"}, "capturedAt: "},
		{query.EvidenceRequest{ItemID: 1, Site: "alpha.example", CapturedAt: "2026-03-01T00:00:00Z", Timezone: "Mars/Base"}, "timezone: "},
	} {
		if _, err := w.service.Evidence(t.Context(), query.Principal{Account: accountWhole}, c.r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
	w.mark++
	var crowd []obsRow
	for capture := range uint16(1_001) {
		crowd = append(crowd, obsRow{item: 1, site: "alpha.example", ms: w.now.UnixMilli(), epoch: epoch, seq: w.mark, capture: capture, outcome: contracts.Unavailable, price: -1})
	}
	w.add(crowd)
	r := query.EvidenceRequest{ItemID: 1, Site: "alpha.example", CapturedAt: w.now.Format(time.RFC3339)}
	if _, err := w.service.Evidence(t.Context(), query.Principal{Account: accountWhole}, r); err == nil || !strings.Contains(err.Error(), "More than 1000 rows") {
		t.Errorf("a crowd: %v", err)
	}
	w.capture(1, "alpha.example", time.Hour, contracts.PriceObserved, "100 EUR")
	w.raise(0, w.now.Add(-100*time.Hour))
	p := query.Principal{Account: accountWhole}
	at := w.now.Add(-time.Hour).Format(time.RFC3339Nano)
	page, err := w.service.Evidence(t.Context(), p, query.EvidenceRequest{ItemID: 1, Site: "alpha.example", CapturedAt: at})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	again := must.Get(url.Parse(page.Data[0].Again))(t)
	of := again.Query()
	rows, err := w.service.Results(t.Context(), p, query.ResultsRequest{ItemID: 1, Site: "alpha.example", CapturedFrom: of.Get("capturedFrom"), CapturedTo: of.Get("capturedTo"), Limit: ptr(1), Cursor: of.Get("cursor")})
	if err != nil || rows.Paging.Returned != 1 {
		t.Errorf("%s: %+v, %v", again, rows, err)
	}
}
