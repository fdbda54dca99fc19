package query_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// shelf is a store with one account, and with rows that reads return as stored.
type shelf struct {
	query.Store
	rows  []shelfRow
	seen  map[contracts.SiteKey]uint64 // pairs with a row, whatever the filters
	pairs map[contracts.SiteKey]uint64 // nil: must not be read
}

type shelfRow struct {
	item     uint64
	site     string
	outcome  contracts.Outcome
	currency string
	price    int64
}

func (s *shelf) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	return &query.Access{
		Account: 1, Permissions: contracts.Permissions(), Watermark: query.Watermark{Epoch: 1, Seq: 1},
		Visibility: query.Visibility{Mandate: 1, Versions: []uint64{1}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}},
	}, nil
}

func (s *shelf) PairsBySite(context.Context, query.Visibility, query.Selectors) (map[contracts.SiteKey]uint64, error) {
	if s.pairs == nil {
		panic("the pairs of sites are asked without need")
	}
	return s.pairs, nil
}

func (s *shelf) ObservedBySite(_ context.Context, _ query.Visibility, q *query.ResultsQuery) (map[contracts.SiteKey]uint64, error) {
	if q.Filtered() || q.Limit != 0 {
		panic("observed pairs are asked of a part")
	}
	return s.seen, nil
}

// Results returns blocks of five rows, which are stored in reverse order.
func (s *shelf) Results(_ context.Context, _ query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	for rows := range slices.Chunk(s.rows, 5) {
		if err := each(blockOf(rows, q.Window.To)); err != nil {
			return err
		}
	}
	return nil
}

func blockOf(rows []shelfRow, at time.Time) *query.Block {
	b := &query.Block{Len: len(rows)}
	text := func(d *query.Dict, v string) {
		d.Index = append(d.Index, uint32(d.Values.Len()))
		d.Values.Append(v)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		b.Order = append(b.Order, uint32(i))
		b.Item, b.CapturedMs = append(b.Item, r.item), append(b.CapturedMs, at.UnixMilli())
		b.Epoch, b.Seq, b.Capture, b.Offer = append(b.Epoch, 1), append(b.Seq, 1), append(b.Capture, 0), append(b.Offer, 0)
		b.Outcome, b.PriceMinor = append(b.Outcome, uint8(r.outcome)), append(b.PriceMinor, r.price)
		b.ShippingMinor, b.IsBuyBox = append(b.ShippingMinor, -1), append(b.IsBuyBox, 0)
		text(&b.Site, r.site)
		text(&b.Currency, r.currency)
		text(&b.Merchant, "")
	}
	return b
}

func config() query.Config {
	cfg := query.Defaults()
	cfg.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	return cfg
}

func (s *shelf) service(t *testing.T) *query.Service {
	t.Helper()
	service := must.Get(query.New(config(), s, func() time.Time { return time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC) }))(t)
	return service
}

// TestSummary shows the summary's JSON: the three outcomes separate (GEN-G5),
// currencies separate and with all of their digits, the lower median of an even
// number, and pairs without a row only where the page can know them.
func TestSummary(t *testing.T) {
	priced := func(item uint64, site, currency string, minor int64) shelfRow {
		return shelfRow{item, site, contracts.PriceObserved, currency, minor}
	}
	rows := []shelfRow{
		priced(1, "b", "EUR", 1250), priced(1, "b", "EUR", 300), priced(1, "b", "JPY", 500), priced(2, "b", "KWD", 1234), priced(3, "b", "EUR", 1000),
		{4, "a", contracts.Unavailable, "EUR", 999},
		{5, "a", contracts.ProductNotFound, "", -1},
		{6, "a", contracts.AccessRestricted, "", -1},
		{7, "a", contracts.SiteUnavailable, "", -1},
		{8, "a", contracts.OutcomeUnknown, "", -1},
		{9, "a", contracts.PriceObserved, "EUR", -1},
		priced(3, "b", "EUR", 400),
	}
	pairs := map[contracts.SiteKey]uint64{"a": 9, "b": 3, "c": 4}
	seen := map[contracts.SiteKey]uint64{"a": 7, "b": 4, "c": 1} // a pair of b left the scope meanwhile
	const at = `"firstCapturedAt":"2026-03-08T12:00:00.000Z","lastCapturedAt":"2026-03-08T12:00:00.000Z","sites":[`
	const whole = `{"covers":"query","rows":12,` + at +
		`{"site":"a","priced":0,"unavailable":2,"unknown":4,"prices":[],"noResult":3},` +
		`{"site":"b","priced":6,"unavailable":0,"unknown":0,"prices":[` +
		`{"currencyCode":"EUR","count":4,"min":3.00,"median":4.00,"max":12.50},` +
		`{"currencyCode":"JPY","count":1,"min":500,"median":500,"max":500},` +
		`{"currencyCode":"KWD","count":1,"min":1.234,"median":1.234,"max":1.234}],"noResult":0},` +
		`{"site":"c","noResult":4}]}` // without result, and not "0 priced"
	filtered := strings.NewReplacer(`"noResult":3`, `"noResult":2`, `"noResult":4`, `"noResult":3`).Replace(whole) // some of the pairs that the filter leaves without rows have a result
	unknowable := strings.NewReplacer(`"noResult":3`, `"noResult":null`, `"noResult":0`, `"noResult":null`, `"noResult":4`, `"noResult":null`).Replace(whole)
	ofPage := strings.Replace(unknowable, `"covers":"query"`, `"covers":"page"`, 1) // this store's walk begins again
	without := func(a, b, c string) string {                                        // rows
		var sites []string
		for i, n := range []string{a, b, c} {
			sites = append(sites, `{"site":"`+"abc"[i:i+1]+`","noResult":`+n+`}`)
		}
		return `{"covers":"query","rows":0,"firstCapturedAt":null,"lastCapturedAt":null,"sites":[` + strings.Join(sites, ",") + "]}"
	}
	limit := 3
	first := must.Get((&shelf{rows: rows}).service(t).Results(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{Limit: &limit}))(t)
	for name, c := range map[string]struct {
		rows []shelfRow
		req  query.ResultsRequest
		want string
	}{
		"a whole answer":       {rows, query.ResultsRequest{Summarize: true}, whole},
		"a page of a walk":     {rows, query.ResultsRequest{Summarize: true, Limit: &limit}, whole},
		"the end of a walk":    {rows, query.ResultsRequest{Summarize: true, Cursor: first.Paging.NextCursor}, ofPage},
		"an answer budget":     {rows, query.ResultsRequest{Summarize: true, AnswerBytes: 500}, whole},
		"a filter":             {rows, query.ResultsRequest{Summarize: true, Filters: query.Filters{Brand: "x"}}, filtered},
		"no row":               {nil, query.ResultsRequest{Summarize: true}, without("9", "3", "4")},
		"a filter of no value": {rows, query.ResultsRequest{Summarize: true, Filters: query.Filters{CoverageState: "NO_RESULT"}}, without("2", "0", "3")},
	} {
		t.Run(name, func(t *testing.T) {
			page := must.Get((&shelf{rows: c.rows, seen: seen, pairs: pairs}).service(t).Results(t.Context(), query.Principal{Account: 1}, c.req))(t)
			got := must.Get(json.Marshal(page.Summary))(t)
			equals.Check(t, c.want, string(got))
		})
	}
	page, err := (&shelf{rows: rows}).service(t).Results(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{})
	if err != nil || page.Summary != nil {
		t.Errorf("a summary that was not asked for: %v, %v", page, err)
	}
}

// TestAnswerBudget: a page ends with the row that reaches the budget, whichever
// block it comes in, and says so.
func TestAnswerBudget(t *testing.T) {
	var rows []shelfRow
	for item := range uint64(12) {
		rows = append(rows, shelfRow{10 + item, "a", contracts.Unavailable, "", -1})
	}
	service := (&shelf{rows: rows}).service(t)
	read := func(limit, budget int) *query.ResultsPage {
		page := must.Get(service.Results(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{Limit: &limit, AnswerBytes: budget}))(t)
		return page
	}
	size := func(rows int) int { return len(read(rows, 0).Rows.JSON()) }
	for _, c := range []struct {
		limit, budget, rows int
		ending              query.Ending
	}{
		{100, 0, 12, query.NothingMore},
		{100, 1, 1, query.AtAnswerBudget},
		{100, size(2), 2, query.AtAnswerBudget},
		{100, size(2) + 1, 3, query.AtAnswerBudget},
		{100, size(5), 5, query.AtAnswerBudget}, // the end of a block
		{100, size(6), 6, query.AtAnswerBudget},
		{6, size(6), 6, query.AtLimit},
		{4, size(6), 4, query.AtLimit},
		{100, size(11) + 1, 12, query.NothingMore},
		{12, size(12), 12, query.NothingMore},
	} {
		page := read(c.limit, c.budget)
		if page.Rows.Len() != c.rows || page.Paging.Returned != c.rows || page.Ending != c.ending || (page.Paging.NextCursor == "") != (c.ending == query.NothingMore) {
			t.Errorf("limit %d, budget %d: %d rows, returned %d, %q, cursor %q; want %d, %q",
				c.limit, c.budget, page.Rows.Len(), page.Paging.Returned, page.Ending, page.Paging.NextCursor, c.rows, c.ending)
		}
	}
}
