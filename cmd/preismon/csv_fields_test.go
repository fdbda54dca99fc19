package main

import (
	"slices"
	"strings"
	"testing"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/wire"
)

// TestCSVHasAllFields: a field that a record has and a command's CSV does not
// would be dropped silently.
func TestCSVHasAllFields(t *testing.T) {
	for _, of := range []struct {
		command string
		fields  []string
		columns []frame.Column
		without string // what does not fit into a row, or has a command of its own
	}{
		{"alerts", alertFields, query.RecordColumns[query.Alert](), ""},
		{"evidence", evidenceFields, query.RecordColumns[query.Evidence](), ""},
		{"explain", explainFields, query.RecordColumns[wire.Explanation](), ""},
		{"item-summary", itemSummaryFields, query.RecordColumns[query.ItemMarket](), "withoutShipping observations buyBox sites"},
		{"lookup", lookupFields, query.LookupColumns(), ""},
		{"movers", moverFields, query.RecordColumns[query.Mover](), ""},
		{"overview", overviewFields, query.RecordColumns[query.OverviewList](), "movers positions sites products"},
		{"position", positionFields, query.RecordColumns[query.OwnPosition](), ""},
		{"site-status", siteStatusFields, query.RecordColumns[query.SiteStatus](), ""},
		{"stats", slices.Concat(statsFields, statsIdentityFields), query.RecordColumns[query.StatisticRecord](), ""},
	} {
		has := map[string]bool{}
		for _, field := range of.fields {
			outer, _, _ := strings.Cut(field, ".")
			has[outer] = true
		}
		for _, c := range of.columns {
			if left := slices.Contains(strings.Fields(of.without), c.Name); left == has[c.Name] {
				t.Errorf("%s: %s is in its CSV: %t, and is left out by intention: %t", of.command, c.Name, has[c.Name], left)
			}
		}
	}
}
