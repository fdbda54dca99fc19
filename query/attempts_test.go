package query_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// pairs is a store that knows which pairs are visible, and has no rows. Each of
// its sites has the given number of items, numbered from 1.
type pairs struct {
	shelf
	items map[contracts.SiteKey]int
	slow  bool
}

func (p *pairs) under(sel query.Selectors) (found []contracts.Pair) {
	for site, n := range p.items {
		for item := contracts.ItemID(1); item <= contracts.ItemID(n); item++ {
			if (sel.Site == "" || sel.Site == site) && (sel.Item == 0 || sel.Item == item) {
				found = append(found, contracts.Pair{Item: item, Site: site})
			}
		}
	}
	return found
}

func (p *pairs) CountPairs(_ context.Context, _ query.Visibility, sel query.Selectors) (query.ScopeSize, error) {
	sites, items := map[contracts.SiteKey]bool{}, map[contracts.ItemID]bool{}
	all := p.under(sel)
	for _, pair := range all {
		sites[pair.Site], items[pair.Item] = true, true
	}
	return query.ScopeSize{Pairs: uint64(len(all)), Items: uint64(len(items)), Sites: uint64(len(sites))}, nil
}

func (p *pairs) PairsBySite(_ context.Context, _ query.Visibility, sel query.Selectors) (map[contracts.SiteKey]uint64, error) {
	found := map[contracts.SiteKey]uint64{}
	for _, pair := range p.under(sel) {
		found[pair.Site]++
	}
	return found, nil
}

func (p *pairs) ScopeItems(_ context.Context, _ query.Visibility, sel query.Selectors, limit int) ([]contracts.ItemID, error) {
	found := map[contracts.ItemID]bool{}
	for _, pair := range p.under(sel) {
		found[pair.Item] = true
	}
	ids := slices.Sorted(maps.Keys(found))
	return ids[:min(limit, len(ids))], nil
}

func (p *pairs) Results(context.Context, query.Visibility, *query.ResultsQuery, func(*query.Block) error) error {
	if p.slow {
		return context.DeadlineExceeded
	}
	return nil
}

// sitesOf returns n sites with the given number of items each.
func sitesOf(n, items int) map[contracts.SiteKey]int {
	all := map[contracts.SiteKey]int{}
	for i := range n {
		all[contracts.SiteKey(fmt.Sprintf("s%03d", i))] = items
	}
	return all
}

// TestAttempts shows which attempts each kind of refusal offers: RES-09a,
// RES-10a to RES-10d, RES-11a, MCP-16b, GEN-G1 to GEN-G3.
func TestAttempts(t *testing.T) {
	two := map[contracts.SiteKey]int{"a": 2, "b": 1}
	for name, c := range map[string]struct {
		req          query.ResultsRequest
		items        map[contracts.SiteKey]int
		slow         bool
		pairs, hours int // of the scan guard
		want         []string
	}{
		"a global window of 200 hours": {
			req:   query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-02-01T00:00:00Z", CapturedTo: "2026-02-09T08:00:00Z"},
			items: two, want: []string{"global 2026-02-08T00:00:00Z 2026-02-09T08:00:00Z", "global 2026-02-01T00:00:00Z 2026-02-07T23:59:59.999Z"},
		},
		"dates of a zone with a longer day": {
			req:   query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-10-25", CapturedTo: "2026-10-31", Timezone: "Europe/Berlin", Sort: "asc"},
			items: two, want: []string{"global 2026-10-24T22:00:00Z 2026-10-31T21:59:59.999Z", "global 2026-10-31T22:00:00Z 2026-10-31T22:59:59.999Z"},
		},
		"a time alone": {
			req:   query.ResultsRequest{CapturedFrom: "2026-03-01", CapturedTo: "2026-03-02"},
			items: two, want: []string{"a 2026-03-01T00:00:00Z 2026-03-02T23:59:59.999Z", "b 2026-03-01T00:00:00Z 2026-03-02T23:59:59.999Z"},
		},
		"a time alone, of the newest": {
			req:   query.ResultsRequest{CapturedFrom: "2026-03-01", LatestPerPair: true},
			items: two, want: []string{"a latest 2026-03-01T00:00:00Z 2026-03-08T12:00:00Z", "b latest 2026-03-01T00:00:00Z 2026-03-08T12:00:00Z"},
		},
		"a time alone at many sites": {
			req:   query.ResultsRequest{CapturedFrom: "2026-03-01", CapturedTo: "2026-03-02"},
			items: sitesOf(61, 1), want: []string{"global 2026-03-01T00:00:00Z 2026-03-02T23:59:59.999Z"},
		},
		"a time alone, nothing visible": {req: query.ResultsRequest{CapturedFrom: "2026-03-01"}},
		"slow: a week": {
			req: query.ResultsRequest{ItemID: 1}, items: two, slow: true,
			want: []string{
				"1 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z", "1 2026-03-06T12:00:00Z 2026-03-07T11:59:59.999Z",
				"1 2026-03-05T12:00:00Z 2026-03-06T11:59:59.999Z", "1 2026-03-04T12:00:00Z 2026-03-05T11:59:59.999Z",
				"1 2026-03-03T12:00:00Z 2026-03-04T11:59:59.999Z", "1 2026-03-02T12:00:00Z 2026-03-03T11:59:59.999Z",
				"1 2026-03-01T12:00:00Z 2026-03-02T11:59:59.999Z",
			},
		},
		"slow: a day": {
			req: query.ResultsRequest{Site: "a", CapturedFrom: "2026-03-01", CapturedTo: "2026-03-01"}, items: two, slow: true,
			want: []string{"a 2026-03-01T12:00:00Z 2026-03-01T23:59:59.999Z", "a 2026-03-01T00:00:00Z 2026-03-01T11:59:59.999Z"},
		},
		"slow: the default window": {
			req: query.ResultsRequest{}, items: two, slow: true,
			want: []string{"global 2026-03-08T00:00:00Z 2026-03-08T12:00:00Z", "global 2026-03-07T12:00:00Z 2026-03-07T23:59:59.999Z"},
		},
		"slow: half a day": {
			req: query.ResultsRequest{Site: "a", CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-01T11:59:59Z", Sort: "asc"}, items: two, slow: true,
			want: []string{"a 2026-03-01T00:00:00Z 2026-03-01T05:59:59.999Z", "a 2026-03-01T06:00:00Z 2026-03-01T11:59:59Z"},
		},
		"slow: two hours": {
			req: query.ResultsRequest{Site: "a", CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-01T01:59:59Z"}, items: two, slow: true,
			want: []string{"a 2026-03-01T01:00:00Z 2026-03-01T01:59:59Z", "a 2026-03-01T00:00:00Z 2026-03-01T00:59:59.999Z"},
		},
		"slow: a year, at most 60 slices": {
			req: query.ResultsRequest{Site: "b", CapturedFrom: "2025-03-08T12:00:00Z", Filters: query.Filters{Brand: "x"}}, items: two, slow: true, want: yearOfSlices(),
		},
		"slow: no lower bound": {
			req: query.ResultsRequest{Site: "b", CapturedTo: "2000-01-02T23:59:59.999Z"}, items: two, slow: true,
			want: []string{"b 2000-01-02T00:00:00Z 2000-01-02T23:59:59.999Z", "b 2000-01-01T00:00:00Z 2000-01-01T23:59:59.999Z"},
		},
		"slow: an hour": {
			req: query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-01T01:00:00Z"}, items: two, slow: true,
			want: []string{"a 2026-03-01T00:00:00Z 2026-03-01T01:00:00Z", "b 2026-03-01T00:00:00Z 2026-03-01T01:00:00Z"},
		},
		"slow: an hour of a site": {
			req: query.ResultsRequest{Site: "a", CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-01T01:00:00Z"}, items: two, slow: true,
			want: []string{"a 1 2026-03-01T00:00:00Z 2026-03-01T01:00:00Z", "a 2 2026-03-01T00:00:00Z 2026-03-01T01:00:00Z"},
		},
		"slow: an hour of a pair": {
			req: query.ResultsRequest{Site: "b", CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-01T01:00:00Z"}, items: two, slow: true,
		},
		"slow: the newest at one site": {
			req: query.ResultsRequest{LatestPerPair: true}, items: map[contracts.SiteKey]int{"a": 2}, slow: true, want: []string{"1 latest", "2 latest"},
		},
		"slow: the newest of a pair": {req: query.ResultsRequest{LatestPerPair: true, Site: "b"}, items: two, slow: true},
		"the guard: the newest come in no slices": {
			req:   query.ResultsRequest{LatestPerPair: true, Site: "a", CapturedFrom: "2026-03-01", CapturedTo: "2026-03-01"},
			items: two, pairs: 1, hours: 20, want: []string{"a 1 latest 2026-03-01T00:00:00Z 2026-03-01T23:59:59.999Z", "a 2 latest 2026-03-01T00:00:00Z 2026-03-01T23:59:59.999Z"},
		},
		"slow: the newest":          {req: query.ResultsRequest{LatestPerPair: true}, items: two, slow: true, want: []string{"a latest", "b latest"}},
		"the newest of many":        {req: query.ResultsRequest{LatestPerPair: true}, items: map[contracts.SiteKey]int{"a": 1000, "b": 1}, want: []string{"a latest", "b latest"}},
		"the newest at many sites":  {req: query.ResultsRequest{LatestPerPair: true}, items: sitesOf(501, 2), want: []string{"1 latest", "2 latest"}},
		"a site of too many pairs":  {req: query.ResultsRequest{LatestPerPair: true, Filters: query.Filters{Brand: "x"}}, items: map[contracts.SiteKey]int{"a": 1001, "b": 1}, want: []string{"a sets", "b sets"}},
		"that site alone":           {req: query.ResultsRequest{LatestPerPair: true, Site: "a"}, items: map[contracts.SiteKey]int{"a": 1001, "b": 1}, want: []string{"a sets"}},
		"too many sites and items":  {req: query.ResultsRequest{LatestPerPair: true}, items: sitesOf(61, 61), want: []string{"sets"}},
		"a filter that sets lose":   {req: query.ResultsRequest{LatestPerPair: true, Filters: query.Filters{Merchant: "x"}}, items: map[contracts.SiteKey]int{"a": 1001, "b": 1}},
		"a state that sets lose":    {req: query.ResultsRequest{LatestPerPair: true, Filters: query.Filters{CoverageState: "UNKNOWN"}}, items: map[contracts.SiteKey]int{"a": 1001}},
		"the newest sets of many":   {req: query.ResultsRequest{LatestObservationPerPair: true}, items: sitesOf(2, 130_000), want: []string{"s000 sets", "s001 sets"}},
		"sixty sites are few":       {req: query.ResultsRequest{LatestPerPair: true, Filters: query.Filters{Merchant: "x"}}, items: sitesOf(60, 61), want: slices.Sorted(eachSite(60, " latest"))},
		"sixty-one are not":         {req: query.ResultsRequest{LatestPerPair: true, Filters: query.Filters{Merchant: "x"}}, items: sitesOf(61, 61)},
		"the guard: shorter, first": {req: query.ResultsRequest{}, items: two, pairs: 2, hours: 20, want: []string{"global 2026-03-08T08:00:00Z 2026-03-08T12:00:00Z", "global 2026-03-07T12:00:00Z 2026-03-08T07:59:59.999Z"}},
		"the guard: sites, then":    {req: query.ResultsRequest{}, items: two, pairs: 2, want: []string{"a 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z", "b 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z"}},
		"the guard: items, last": {req: query.ResultsRequest{}, items: two, pairs: 1, want: []string{
			"a 1 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z", "a 2 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z", "b 2026-03-07T12:00:00Z 2026-03-08T12:00:00Z",
		}},
		"the guard: too many items":  {req: query.ResultsRequest{}, items: sitesOf(2, 40), pairs: 1},
		"the guard: too many slices": {req: query.ResultsRequest{Site: "b", CapturedFrom: "2026-02-01", CapturedTo: "2026-03-04"}, items: two, hours: 12},
		"no faulty refusal":          {req: query.ResultsRequest{CapturedFrom: "2026-03-01", Sort: "up"}, items: two},
		"no other refusal":           {req: query.ResultsRequest{GlobalScope: true, Site: "a"}, items: two},
		"a window that ends first":   {req: query.ResultsRequest{CapturedFrom: "2026-03-02", CapturedTo: "2026-03-01"}, items: two},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.ScanGuardMaxPairs, cfg.ScanGuardMaxHours = c.pairs, c.hours
			st := &pairs{items: c.items, slow: c.slow}
			service := must.Get(query.New(cfg, st, func() time.Time { return time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC) }))(t)
			p := query.Principal{Account: 1}
			_, refused := service.Results(t.Context(), p, c.req)
			if refused == nil {
				t.Fatal("not refused")
			}
			c.req.Cursor = "is left out"
			attempts := must.Get(service.Attempts(t.Context(), p, c.req, refused))(t)
			var got []string
			st.slow = false
			for _, a := range attempts {
				got = append(got, shown(a))
				if _, err := service.Results(t.Context(), p, a); err != nil {
					t.Errorf("%s is refused: %v", shown(a), err)
				}
			}
			equals.Check(t, c.want, got)
		})
	}
}

// yearOfSlices returns the slices of the 8,760 hours before now, of 146 hours
// each.
func yearOfSlices() (all []string) {
	const length = 146 * time.Hour
	for to := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC); len(all) < 60; to = to.Add(-length) {
		end := to
		if len(all) > 0 {
			end = to.Add(-time.Millisecond)
		}
		all = append(all, "b "+to.Add(-length).Format(time.RFC3339Nano)+" "+end.Format(time.RFC3339Nano))
	}
	return all
}

func eachSite(n int, more string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for site := range sitesOf(n, 1) {
			if !yield(string(site) + more) {
				return
			}
		}
	}
}

// shown returns what distinguishes an attempt from its request.
func shown(r query.ResultsRequest) string {
	var words []string
	for word, is := range map[string]bool{
		"1global": r.GlobalScope, "2" + string(r.Site): r.Site != "", fmt.Sprint("3", r.ItemID): r.ItemID != 0, "4latest": r.LatestPerPair,
		"5sets": r.LatestObservationPerPair, "6" + r.CapturedFrom: r.CapturedFrom != "", "7" + r.CapturedTo: r.CapturedTo != "", "8cursor": r.Cursor != "",
	} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for i := range words {
		words[i] = words[i][1:]
	}
	return strings.Join(words, " ")
}

// TestAttemptsBelongToRefusals: other errors have no attempts, and an account
// without access learns nothing from them.
func TestAttemptsBelongToRefusals(t *testing.T) {
	service := (&shelf{}).service(t)
	broad := query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-01-01", CapturedTo: "2026-03-01"}
	for _, refused := range []error{
		nil, errors.New("broken"), context.DeadlineExceeded, fault.New(fault.Unavailable, "", "away"),
		fault.New(fault.Invalid, query.CodeResponseTooLarge, "large"), fault.New(fault.Invalid, query.CodeValidation, "wrong"),
	} {
		if got, err := service.Attempts(t.Context(), query.Principal{Account: 1}, broad, refused); err != nil || got != nil {
			t.Errorf("%v: %v, %v", refused, got, err)
		}
	}
	denied := must.Get(query.New(config(), denial{}, time.Now))(t)
	got, err := denied.Attempts(t.Context(), query.Principal{Account: 1}, broad, fault.New(fault.Invalid, query.CodeScopeTooBroad, "broad"))
	if fault.KindOf(err) != fault.Forbidden || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// denial is a store whose accounts may read nothing.
type denial struct{ query.Store }

func (denial) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	return &query.Access{Account: 1}, nil
}
