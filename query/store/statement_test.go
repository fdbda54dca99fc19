package store

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestStatements shows the SQL and the values of each kind of results read, so
// that a reviewer reads them in the diff.
func TestStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	behind := whole
	behind.Applied = false
	narrow := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{Orders: []contracts.OrderID{1, 2}, Sites: []contracts.SiteKey{"a.example", "b.example"}}}
	day := contracts.Window{From: time.UnixMilli(1_000_000), To: time.UnixMilli(2_000_000)}
	mark := query.Watermark{Epoch: 5, Seq: 99}
	yes := true
	for name, c := range map[string]struct {
		v query.Visibility
		q query.ResultsQuery
		o readOptions
	}{
		"window_whole":     {v: whole, q: query.ResultsQuery{Window: day, Watermark: mark, Limit: 101}},
		"window_behind":    {v: behind, q: query.ResultsQuery{Window: day, Watermark: mark, Limit: 101}},
		"window_narrow":    {v: narrow, q: query.ResultsQuery{Window: day, Watermark: mark, Limit: 101, Ascending: true, After: &query.Position{CapturedMs: 1_500_000, Item: 4, Site: "it's", Epoch: 5, Seq: 6, Capture: 7, Offer: 8}}},
		"window_export":    {v: whole, q: query.ResultsQuery{Window: day, Watermark: mark, Export: true}},
		"window_standing":  {v: whole, q: query.ResultsQuery{Window: day, Watermark: mark, Standing: true}},
		"window_filters":   {v: whole, q: query.ResultsQuery{Window: day, Watermark: mark, Filters: query.Filters{Brand: "B", Manufacturer: "M", Merchant: "a\\b\t'c'\n\x00", IsPrime: &yes, IsBuyBox: &yes}, Outcomes: []contracts.Outcome{contracts.PriceObserved}}},
		"order":            {v: whole, q: query.ResultsQuery{Selectors: query.Selectors{Order: 2}, Window: day, Watermark: mark, Limit: 11}},
		"order_by_pair":    {v: narrow, q: query.ResultsQuery{Selectors: query.Selectors{Order: 2}, Window: day, Watermark: mark, Limit: 11}, o: readOptions{byPair: true}},
		"product":          {v: whole, q: query.ResultsQuery{Selectors: query.Selectors{EAN: "4006381333931", Site: "a.example"}, Window: day, Watermark: mark, Limit: 11}},
		"latest_row":       {v: whole, q: query.ResultsQuery{Latest: query.NewestRow, Watermark: mark, Limit: 11}},
		"latest_row_since": {v: whole, q: query.ResultsQuery{Latest: query.NewestRow, Selectors: query.Selectors{Site: "a.example"}, Window: contracts.Window{From: day.From}, Watermark: mark, Limit: 11}},
		"latest_set":       {v: narrow, q: query.ResultsQuery{Latest: query.NewestWhole, Watermark: mark, Limit: 11, Filters: query.Filters{Merchant: "M"}}},
		"latest_set_since": {v: whole, q: query.ResultsQuery{Latest: query.NewestWhole, Selectors: query.Selectors{Item: 9}, Window: contracts.Window{From: day.From}, Watermark: mark, Limit: 11}},
	} {
		t.Run(name, func(t *testing.T) {
			goldenStatement(t, name, resultsStatement(1, c.v, &c.q, c.o))
			several := c.v
			several.Versions = []uint64{21, 22, 23}
			goldenStatement(t, name+"_shards", resultsStatement(3, several, &c.q, c.o))
		})
	}
}

// TestEveryFilterHasACondition: each filter changes the statement, and binds its
// value, or the outcomes that its value stands for.
func TestEveryFilterHasACondition(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	all := resultsStatement(1, whole, &query.ResultsQuery{Limit: 11}, readOptions{})
	for _, p := range query.ResultsParameters {
		if p.Kind != query.FilterParameter || p.Name == "coverageState" { // the query has its outcomes
			continue
		}
		yes := true
		var r query.ResultsRequest
		switch field := p.Field(&r).(type) {
		case *string:
			*field = "x"
		case **bool:
			*field = &yes
		}
		st := resultsStatement(1, whole, &query.ResultsQuery{Limit: 11, Filters: r.Filters}, readOptions{})
		if st.params[p.Name] == "" || strings.Count(st.text, "{"+p.Name+":") != 1 || len(st.text) <= len(all.text) {
			t.Errorf("%s has no condition:\n%s\n%v", p.Name, st.text, st.params)
		}
	}
}

// TestFeedStatements shows the SQL of a feed, for one mandate and for several.
// Only accounts that see all of their mandate share a statement.
func TestFeedStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	of := func(v query.Visibility, s query.Selectors) (query.Visibility, *query.FeedQuery) {
		return v, &query.FeedQuery{Rows: query.ResultsQuery{Selectors: s, Watermark: query.Watermark{Epoch: 5, Seq: 99}, Filters: query.Filters{Merchant: "M"}}, After: query.FeedPosition{Epoch: 5, Seq: 6, Capture: 7, Offer: 8}, Limit: 11}
	}
	together := []contracts.MandateID{7, 8}
	for name, n := range map[string]shards{"": 1, "_shards": 3} {
		v, q := of(whole, query.Selectors{Site: "a.example"})
		alone, _ := feedStatement(n, v, q, nil)
		goldenStatement(t, "feed"+name, alone)
		st, shared := feedStatement(n, v, q, together)
		if goldenStatement(t, "feed_together"+name, st); !shared {
			t.Error("it is not shared")
		}
	}
	behind, narrow := whole, whole
	behind.Applied = false
	narrow.Scope = contracts.AccountScope{AllOrders: true, Sites: []contracts.SiteKey{"a.example"}}
	for name, c := range map[string]struct {
		v query.Visibility
		s query.Selectors
	}{
		"behind": {v: behind}, "narrow": {v: narrow}, "order": {whole, query.Selectors{Order: 2}}, "product": {whole, query.Selectors{EAN: "96385074"}}, "items": {whole, query.Selectors{Items: "[1,2]"}},
	} {
		v, q := of(c.v, c.s)
		st, shared := feedStatement(1, v, q, together)
		if shared || strings.Contains(st.text, "{mandates:") {
			t.Errorf("%s: it is shared", name)
		}
	}
}

// TestSilencesStatements shows the SQL of silent pairs.
func TestSilencesStatements(t *testing.T) {
	q := &query.SilencesQuery{For: time.Hour, Rows: query.ResultsQuery{
		Selectors: query.Selectors{Item: 9, Site: "a.example"}, Window: contracts.Window{From: time.UnixMilli(1_000_000), To: time.UnixMilli(2_000_000)},
		Watermark: query.Watermark{Epoch: 5, Seq: 99}, Standing: true, After: &query.Position{CapturedMs: 1_000_000, Item: 4, Site: "it's"}, Limit: 11,
	}}
	v := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}, Floor: 1_500_000}
	goldenStatement(t, "silences", silencesStatement(1, v, q))
	v.Versions = []uint64{21, 22, 23}
	goldenStatement(t, "silences_shards", silencesStatement(3, v, q))
}

// goldenStatement compares a statement and its values with the golden file. No
// statement is without the caller's mandate.
func goldenStatement(t *testing.T, name string, st statement) {
	t.Helper()
	var b strings.Builder
	b.WriteString(st.text)
	b.WriteString("\n-- values\n")
	for _, k := range slices.Sorted(maps.Keys(st.params)) {
		fmt.Fprintf(&b, "-- %s = %s\n", k, st.params[k])
	}
	golden := filepath.Join("testdata", name+".golden.sql")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	equals.Checkf(t, string(want), b.String(), "run with -update if this is meant")
	if !strings.Contains(b.String(), "mandate = {mandate:UInt64}") && !strings.Contains(b.String(), "mandate IN {mandates:Array(UInt64)}") {
		t.Error("the statement does not name the mandate")
	}
}
