package mcp_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// camelCase names are arguments; other names may be plain words.
var camelCase = regexp.MustCompile(`\b[a-z]+[A-Z][A-Za-z]*\b`)

// refusedCalls are calls that are refused for their arguments, for their size,
// or for their duration.
func refusedCalls() map[string][]object {
	ago := func(h int) string { return moment().Add(-time.Duration(h) * time.Hour).Format(time.RFC3339) }
	return map[string][]object{
		"list_results": {
			{},
			{"site": "shop-one"},
			{"capturedFrom": ago(300), "orderId": 5},
			{"globalScope": true},
			{"latestPerPair": true},
			{"latestObservationPerPair": true},
			{"globalScope": true, "capturedFrom": ago(300), "capturedTo": ago(1)},
			{"capturedFrom": ago(3)},
			{"capturedFrom": ago(1), "capturedTo": ago(3)},
		},
		"list_result_changes": {
			{"since": ago(200), "orderId": 5},
			{"since": ago(200), "site": "shop-one"},
			{"since": ago(3), "globalScope": true},
			{"since": ago(300), "globalScope": true},
			{"since": ago(3)},
			{"since": ago(-3), "itemId": 100},
			{"since": ago(1), "until": ago(3), "itemId": 100},
			{"since": "then", "until": "2011-12-30", "kind": "UP", "timezone": "Nowhere"},
			{"since": "2011-12-30", "until": "2011-12-30", "timezone": "Pacific/Apia", "itemId": 100},
			{"since": ago(3), "globalScope": true, "site": "shop-one"},
			{"since": ago(3), "asin": "B000000001"},
		},
		"get_market_price_position": {
			{}, {"orderId": 5}, {"site": "shop-one"}, {"itemId": 100, "candidatePrice": "1"}, {"candidatePrice": "x"}, {"amount": "all"}, {"country": "Germany"}, {"limit": 0},
		},
		"list_items":  {{"asin": "B000000001"}, {"name": "!", "limit": 0}, {"category": "none"}, {"name": "thing"}},
		"list_orders": {{"includeCoverage": true, "includeMonitoring": true}, {"limit": 0}}, "list_sites": {{"limit": 0}}, "list_asin_locales": {{"limit": 0}},
		"get_order_detail":               {{"orderId": 5}, {"orderId": 99}, {}},
		"list_order_observation_quality": {{"orderId": 5, "reasonCode": "X", "limit": 0}, {"orderId": 99}, {"orderId": 5, "site": "Ü"}},
		"list_order_export_history":      {{"orderId": 5, "dateFrom": "x", "dateTo": "y"}, {"orderId": 5, "dateFrom": "2026-02-01", "dateTo": "2026-01-01"}, {"orderId": 5}},
		"list_order_import_history":      {{"orderId": 5, "dateFrom": "x"}},
		"download_order_export_file":     {{"orderId": 5}, {"orderId": 99}, {"orderId": 5, "lines": "5-1"}},
		"download_order_import_file":     {{"orderId": 5}, {"orderId": 5, "dateTo": "x"}, {"orderId": 5, "lines": "x"}},
	}
}

// A refusal names only arguments of its own tool.
func TestRefusalsNameArgumentsOfTheirTool(t *testing.T) {
	slow := broad(4, 4)
	slow.slow = func(*query.ResultsQuery) bool { return true }
	large := broad(3_400, 0)
	for i := range 1_001 {
		large.files = append(large.files, query.FileEntry{
			Artifact: query.Artifact{FilesOf: query.FilesOf{Direction: query.Exports, OrderID: 5}, Mandate: 1, Archive: contracts.ArchiveID(i + 1)}, ArchivedAt: moment(),
		})
	}
	markets := map[string]*agents{
		"wrong": newAgents(t, broad(2, 2)),
		"large": newAgents(t, large),
		"guard": newAgents(t, broad(5, 11), func(s *agentSettings) { s.query.ScanGuardMaxPairs, s.query.ScanGuardMaxHours = 1, 1 }),
		"hours": newAgents(t, broad(5, 11), func(s *agentSettings) { s.query.ScanGuardMaxHours = 1 }),
		"slow": newAgents(t, slow, func(s *agentSettings) {
			s.query.SoftDeadline, s.query.HardBudget = time.Millisecond, 20*time.Millisecond
		}),
	}
	takes := map[string][]string{} // by tool
	every := map[string]bool{}
	for _, d := range markets["wrong"].agent(whole).tools() {
		for name := range inputOf(t, d).Properties {
			takes[d.Name] = append(takes[d.Name], name)
			every[name] = true
		}
	}
	codes := map[string]map[string]bool{}
	for kind, market := range markets {
		for tool, calls := range refusedCalls() {
			for _, arguments := range calls {
				r := market.agent(whole).call(tool, arguments)
				if !r.IsError {
					continue
				}
				problem := r.members()
				text := at(problem, "detail").(string)
				if told, ok := at(problem, "recovery", "guidance").(string); ok {
					text += " " + told
				}
				if codes[tool] == nil {
					codes[tool] = map[string]bool{}
				}
				codes[tool][at(problem, "code").(string)] = true
				for _, name := range camelCase.FindAllString(text, -1) {
					if every[name] && !slices.Contains(takes[tool], name) {
						t.Errorf("%s: %s %v names %s: %s", kind, tool, arguments, name, text)
					}
				}
				if !slices.Contains(takes[tool], "capturedFrom") && (strings.Contains(text, "window") || strings.Contains(text, "bounds")) {
					t.Errorf("%s: %s %v speaks of a window: %s", kind, tool, arguments, text)
				}
			}
		}
	}
	for tool := range takes {
		if tool != "describe_results_contract" && len(codes[tool]) == 0 {
			t.Errorf("%s is never refused", tool)
		}
	}
	for _, tool := range []string{"list_results", "list_result_changes", "get_market_price_position"} {
		for _, code := range []string{"MVP_VALIDATION_ERROR", "RESULTS_SCOPE_TOO_BROAD", "RESULTS_QUERY_TIMEOUT"} {
			if !codes[tool][code] {
				t.Errorf("%s is never refused as %s, but %v", tool, code, slices.Sorted(maps.Keys(codes[tool])))
			}
		}
	}
}
