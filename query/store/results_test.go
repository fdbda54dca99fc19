package store_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// answer is the part of a result row that identifies it.
type answer struct {
	ItemID     string   `json:"itemId"`
	Site       string   `json:"site"`
	CapturedAt string   `json:"capturedAt"`
	Price      *float64 `json:"price"`
	Merchant   *string  `json:"merchant"`
}

func expected(rows []obsRow) []answer {
	out := []answer{}
	for _, r := range rows {
		a := answer{ItemID: fmt.Sprint(r.item), Site: r.site, CapturedAt: time.UnixMilli(r.ms).UTC().Format("2006-01-02T15:04:05.000Z")}
		if r.price >= 0 {
			v := float64(r.price) / 100
			if r.currency == "JPY" {
				v = float64(r.price)
			}
			a.Price = &v
		}
		if r.merchant != "" {
			a.Merchant = &r.merchant
		}
		out = append(out, a)
	}
	return out
}

func decode(t require, rows *query.RowsJSON) []answer {
	var got []answer
	if err := json.Unmarshal(array(rows), &got); err != nil {
		t.Fatalf("rows are no JSON: %v", err)
	}
	return got
}

// array returns the rows of a page as a JSON array.
func array(rows *query.RowsJSON) []byte {
	defer rows.Release()
	return append(append([]byte{'['}, rows.JSON()...), ']')
}

type require interface{ Fatalf(string, ...any) }

// walk follows the cursors of a request to its end.
func (w *world) walk(t require, a contracts.AccountID, r query.ResultsRequest, between func(page int)) []answer {
	all := []answer{}
	for page := 0; ; page++ {
		p, err := w.service.Results(w.t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			t.Fatalf("page %d of %+v: %v", page, r, err)
		}
		got := decode(t, &p.Rows)
		if len(got) != p.Paging.Returned || len(got) > p.Paging.Limit {
			t.Fatalf("page %d: %d rows, returned %d, limit %d", page, len(got), p.Paging.Returned, p.Paging.Limit)
		}
		all = append(all, got...)
		if p.Paging.NextCursor == "" {
			return all
		}
		r.Cursor = p.Paging.NextCursor
		if between != nil {
			between(page)
		}
	}
}

var drawRequest = rapid.Custom(func(t *rapid.T) query.ResultsRequest {
	truth := []*bool{nil, nil, ptr(true), ptr(false)}
	r := query.ResultsRequest{
		Limit:   ptr(rapid.SampledFrom([]int{1, 3, 7, 50, 1000}).Draw(t, "limit")),
		Sort:    rapid.SampledFrom([]string{"", "desc", "asc"}).Draw(t, "sort"),
		ItemID:  contracts.ItemID(rapid.SampledFrom([]uint64{0, 0, 1, 3, 4, 6, 99}).Draw(t, "item")),
		EAN:     rapid.SampledFrom([]string{"", "", "", "4006381333931", "00000096385074", "4006381333930"}).Draw(t, "ean"),
		Site:    contracts.SiteKey(rapid.SampledFrom([]string{"", "", "alpha.example", "market.example", "none.example"}).Draw(t, "site")),
		OrderID: contracts.OrderID(rapid.SampledFrom([]uint64{0, 0, 0, 101, 102, 201}).Draw(t, "order")),
		Filters: query.Filters{
			Merchant:      rapid.SampledFrom([]string{"", "", "", "Merchant 1's \\ shop", "nobody"}).Draw(t, "merchant"),
			Brand:         rapid.SampledFrom([]string{"", "", "", "A", "B"}).Draw(t, "brand"),
			Manufacturer:  rapid.SampledFrom([]string{"", "", "", "", "Maker GmbH", "x"}).Draw(t, "manufacturer"),
			IsPrime:       rapid.SampledFrom(truth).Draw(t, "prime"),
			IsBuyBox:      rapid.SampledFrom(truth).Draw(t, "buyBox"),
			CoverageState: rapid.SampledFrom([]string{"", "", "", "PRICE_OBSERVED", "UNAVAILABLE", "UNKNOWN", "NO_RESULT", "PRODUCT_NOT_FOUND"}).Draw(t, "coverage"),
		},
	}
	// All of these together would leave hardly any row.
	if rapid.SampledFrom([]bool{true, true, false}).Draw(t, "no filter") {
		r.Filters = query.Filters{}
	}
	only := rapid.SampledFrom([]string{"", "", "item", "item", "ean", "site", "order", "all"}).Draw(t, "only")
	for selector, clear := range map[string]func(){
		"item": func() { r.ItemID = 0 }, "ean": func() { r.EAN = "" }, "site": func() { r.Site = "" }, "order": func() { r.OrderID = 0 },
	} {
		if only != "all" && only != selector {
			clear()
		}
	}
	switch rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "latest") {
	case 0:
		r.LatestPerPair = true
	case 1:
		r.LatestObservationPerPair = true
	}
	return r
})

func ptr[T any](v T) *T { return &v }

// TestResultsMatchOracle sends random queries to tables that have rows beyond
// the watermark, and compares whole walks, and streams in many slices, some of
// which go on where a page ends, with a look at every row: VIS-02, RES-01,
// RES-P03a, RES-P05a, RES-P06a, RES-P06b, RES-P07, RES-P08b, RES-P09, RES-P11,
// RES-P12a, RES-P12b, RES-14a, RES-05c.
func TestResultsMatchOracle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 42, effort.Often(1500, 2500))
	seen := w.rows
	w.insert(rand.New(rand.NewPCG(1, 2)), 100, 0)
	w.reports()
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	check := func(t require, a contracts.AccountID, r *query.ResultsRequest, from, to int64) []answer {
		want := expected(w.oracle(a, *r, from, to, seen))
		if len(want) > 10**r.Limit {
			r.Limit = ptr(50) // limit the number of pages
		}
		if diff := cmp.Diff(want, w.walk(t, a, *r, nil)); diff != "" {
			t.Fatalf("account %d, %+v (-want +got):\n%s", a, *r, diff)
		}
		return want
	}
	now := w.now.UnixMilli()
	for _, r := range []query.ResultsRequest{{}, {ItemID: 3}} { // random queries are narrow, and seldom about the rows beyond
		r.Limit = ptr(1000)
		check(t, accountWhole, &r, now-map[bool]int64{true: 24, false: 168}[r.ItemID == 0]*3600_000, now)
	}
	for _, r := range []query.ResultsRequest{{LatestObservationPerPair: true}, {LatestPerPair: true}} {
		r.Limit = ptr(1000)
		check(t, accountWhole, &r, math.MinInt64, math.MaxInt64)
	}
	some, paged := 0, 0
	effort.CheckOften(t, 40, 100, func(rt *rapid.T) {
		a := rapid.SampledFrom(accounts).Draw(rt, "account")
		r := drawRequest.Draw(rt, "request")
		from, to := w.drawWindow(rt, &r)
		want := check(rt, a, &r, from, to)
		if len(want) > 0 {
			some++
		}
		if len(want) > *r.Limit {
			paged++
		}
		if n := len(want); n > 3 && rapid.Bool().Draw(rt, "resume") { // at a page's cursor
			r.Limit = ptr(rapid.IntRange(1, min(n-1, 1000)).Draw(rt, "limit of the page"))
			p, err := w.service.Results(t.Context(), query.Principal{Account: a}, r)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			r.Cursor, want = p.Paging.NextCursor, want[*r.Limit:]
		}
		var got lines
		if err := w.service.StreamResults(t.Context(), query.Principal{Account: a}, r, &got); err != nil {
			rt.Fatalf("%+v: %v", r, err)
		}
		if diff := cmp.Diff(want, got.answers(rt)); diff != "" || got.rows != len(want) || got.starts != 1 {
			rt.Fatalf("account %d, %+v: %d starts, %d rows of a stream (-want +got):\n%s", a, r, got.starts, got.rows, diff)
		}
	})
	t.Logf("%d questions with rows, %d of several pages", some, paged)
	if some < effort.Often(8, 15) || paged < effort.Often(3, 4) {
		t.Errorf("only %d questions have rows, %d several pages", some, paged)
	}
}

// drawWindow gives the request a window, and returns what it must mean.
func (w *world) drawWindow(t *rapid.T, r *query.ResultsRequest) (from, to int64) {
	now := w.now.UnixMilli()
	none := r.ItemID == 0 && r.EAN == "" && r.Site == "" && r.OrderID == 0
	minutes := func(name string, some ...int) time.Duration { // a range would draw mostly short ones
		return time.Duration(rapid.SampledFrom(some).Draw(t, name)) * time.Minute
	}
	lower := w.now.Add(-minutes("lower", 0, 1, 59, 600, 24*60, 3001, 100*60, 200*60))
	upper := lower.Add(minutes("length", 0, 1, 60, 601, 24*60, 99*60, 168*60))
	switch rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "window") {
	case 0:
		switch {
		case r.LatestPerPair || r.LatestObservationPerPair:
			return math.MinInt64, math.MaxInt64
		case r.ItemID != 0 || r.EAN != "":
			return now - 168*3600_000, now
		}
		return now - 24*3600_000, now
	case 1:
		if none {
			r.GlobalScope = true
		} else {
			r.CapturedFrom = lower.Format(time.RFC3339Nano)
			return lower.UnixMilli(), now
		}
	case 2:
		if !none {
			r.CapturedTo = upper.Format(time.RFC3339Nano)
			return math.MinInt64, upper.UnixMilli()
		}
		r.GlobalScope = true
	case 3:
		r.GlobalScope = none
	}
	r.CapturedFrom, r.CapturedTo = lower.Format(time.RFC3339Nano), upper.Format(time.RFC3339Nano)
	return lower.UnixMilli(), upper.UnixMilli()
}

// TestFewPairsAreReadByPair: a wide window of an order does not use the rows by
// mandate; a read of the whole mandate, or of a few hours, does. The number of
// pairs is read one time for each version of the scope.
func TestFewPairsAreReadByPair(t *testing.T) {
	w := newWorld(t, 5, 2000)
	w.cfg.PairRows = 100
	asked := w.listen()
	narrow := query.ResultsRequest{OrderID: orderB, Limit: ptr(1000)}
	want := expected(w.oracle(accountOrder, narrow, w.now.Add(-24*time.Hour).UnixMilli(), w.now.UnixMilli(), w.rows))
	hour := narrow
	hour.CapturedFrom = w.now.Add(-7 * time.Hour).Format(time.RFC3339)
	whole := query.ResultsRequest{GlobalScope: true, CapturedFrom: w.now.Add(-24 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339)}
	if a, b, c := len(want), len(w.walk(t, accountOrder, hour, nil)), len(w.walk(t, accountWhole, whole, nil)); a == 0 || b == 0 || c == 0 {
		t.Fatalf("there is nothing to see: %d of a day, %d of some hours, %d of all", a, b, c)
	}
	w.exec("TRUNCATE TABLE observations_by_mandate")
	for range 3 {
		equals.Checkf(t, want, w.walk(t, accountOrder, narrow, nil), "without the mandate's rows")
	}
	equals.Is(t, 0, len(w.walk(t, accountOrder, hour, nil))+len(w.walk(t, accountWhole, whole, nil)), "rows of a few hours and of the whole mandate, from elsewhere")
	if n := len(asked.take("pair_counts")); n != 1 {
		t.Errorf("asked %d times how few the pairs are", n)
	}
	w.exec("INSERT INTO scope_pairs SELECT mandate, 8, item, site, orders FROM scope_pairs WHERE version = 7 AND item != 5")
	w.exec("INSERT INTO scopes VALUES (?, 8, 3, 1)", uint64(mandateOne))
	got := w.walk(t, accountOrder, narrow, nil)
	if n := len(asked.take("pair_counts")); len(got) == 0 || len(got) >= len(want) || n != 1 {
		t.Errorf("of another version: %d rows, asked %d times", len(got), n)
	}
}
