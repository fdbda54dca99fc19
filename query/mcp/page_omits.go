package mcp

import (
	"maps"
	"slices"
	"strings"

	"preismon/query"
)

// narrowings are the arguments that a view reads from an address under their
// own names, as in state.js of the explorer; since is written as an instant.
var narrowings = map[string][]string{
	"overview":   {"ownMerchant"},
	"assortment": {"orderId"},
	"history":    {"orderId", "merchant", "ownMerchant"},
	"latest":     append(filters(), "orderId"),
	"sites":      {"orderId"},
}

// filters returns the names of the filters of results.
func filters() (names []string) {
	for _, p := range query.ResultsParameters {
		if p.Kind == query.FilterParameter {
			names = append(names, p.Name)
		}
	}
	return names
}

// shown are the other arguments that a view shows.
var shown = map[string][]string{
	"overview":   {"site", "since"},
	"assortment": {"site", "name", "capturedFrom", "capturedTo", "since", "until"},
	"history":    {"site", "capturedFrom", "capturedTo", "since", "until", "candidatePrice"},
	"latest":     {"site", "latestObservationPerPair"}, // all offers, not the best of each pair
	"sites":      {"site"},
	"orders":     {"orderId", "alias"},
}

// identifiers name products.
var identifiers = []string{"itemId", "ean", "pzn", "asin", "asinLocale"}

// ofAnswers are arguments for the form of an answer, and those that the page
// sets by itself.
var ofAnswers = []string{"limit", "cursor", "fields", "sort", "timezone", "globalScope"}

// omitted returns the arguments that the page does not show, by name.
func (q pageQuestion) omitted() []string {
	view := q.view()
	known := slices.Concat(ofAnswers, narrowings[view], shown[view])
	if view == "history" || view == "latest" {
		known = append(known, identifiers...)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(q.given)), func(name string) bool {
		off := q.given[name] == "false" && query.ResultsParameter(name).Kind != query.FilterParameter
		return slices.Contains(known, name) || strings.HasPrefix(name, "include") || off
	})
}
