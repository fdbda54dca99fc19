package main

import (
	"slices"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestExplorerFilters: the explorer offers each filter of results, and says what
// it means in both languages.
func TestExplorerFilters(t *testing.T) {
	filters := must.Get(explorerFilters())(t)
	var names, want []string
	for _, f := range filters {
		names = append(names, f.Name)
		if f.About["en"] == "" || f.About["de"] == "" || f.About["en"] == f.About["de"] {
			t.Errorf("%s: %v", f.Name, f.About)
		}
	}
	for _, p := range query.ResultsParameters {
		if p.Kind == query.FilterParameter {
			want = append(want, p.Name)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v, not %v", names, want)
	}
}
