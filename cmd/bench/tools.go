package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// smallTool is a tool with a small answer, and the read of REST that gives the
// same.
type smallTool struct {
	name      string
	arguments map[string]any
	path      string
	query     url.Values
}

func (r *run) smallTools(mandate uint64) []smallTool {
	order := fmt.Sprint(mandate*100 + 1)
	site := siteName(0)
	return []smallTool{
		{"list_sites", map[string]any{}, "/v1/sites", nil},
		{"list_items", map[string]any{"limit": 100}, "/v1/items", url.Values{"limit": {"100"}}},
		{"list_asin_locales", map[string]any{}, "/v1/items/asin-locales", nil},
		{"list_orders", map[string]any{}, "/v1/orders", nil},
		{"get_order_detail", map[string]any{"orderId": order}, "/v1/orders/" + order, nil},
		{"list_order_observation_quality", map[string]any{"orderId": order, "limit": 100}, "/v1/orders/" + order + "/observation-quality", url.Values{"limit": {"100"}}},
		{
			"list_results",
			map[string]any{"site": site, "capturedFrom": r.data.from.Format(time.RFC3339), "capturedTo": r.data.to.Format(time.RFC3339), "limit": 100},
			"/v1/results", window(r.data.from, r.data.to, "site", site, "limit", "100"),
		},
		{"describe_results_contract", map[string]any{}, "/v1/results/capabilities", nil},
		{"list_order_export_history", map[string]any{"orderId": order}, "/v1/orders/" + order + "/exports/history", nil},
		{"list_order_import_history", map[string]any{"orderId": order}, "/v1/orders/" + order + "/imports/history", nil},
	}
}

// measureTools compares the tools of agents that have small answers with the
// reads of REST that they correspond to.
func (r *run) measureTools(ctx context.Context) {
	const mandate = hotMandate
	token := r.toolToken(mandate)
	t := r.table("Tools of agents with small answers", "each beside its read over REST")
	worst, which := spread{}, ""
	for _, q := range r.smallTools(mandate) {
		series := r.compare(ctx, t, r.size.warm, r.size.rounds,
			contestant{"MCP " + q.name, func(ctx context.Context) done {
				d := r.askTool(ctx, token, q.name, q.arguments)
				d.rows = 0
				return d
			}},
			contestant{"REST " + q.path, func(ctx context.Context) done {
				d, _ := r.text(ctx, r.asked(r.world.database, mandate, q.path, q.query))
				return d
			}},
		)
		if ratio := slower(series[0], series[1]); ratio.value > worst.value {
			worst, which = ratio, q.name
		}
	}
	r.put("mcp_small_tools_vs_rest", "tools of agents with small answers: p50 against the read over REST, the slowest, "+which, "×", worst, 2, true, "")
}
