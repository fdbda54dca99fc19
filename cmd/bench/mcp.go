package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"preismon/contracts"
	"preismon/query/auth"
)

// measureMCP compares the tool list_results with the REST page that it
// corresponds to. Its answer contains each row twice: as structured content and
// as text, which is escaped once more.
func (r *run) measureMCP(ctx context.Context) {
	const mandate, limit = 1, 10_000
	token := r.toolToken(mandate)
	query := r.widePage()
	bounded := map[string]any{"globalScope": true, "capturedFrom": query.Get("capturedFrom"), "capturedTo": query.Get("capturedTo")}
	whole := maps.Clone(bounded)
	whole["limit"] = limit
	list := func(arguments map[string]any) task {
		return func(ctx context.Context) done {
			d := r.askTool(ctx, token, "list_results", arguments)
			if d.rows == 0 {
				r.failed(errors.New("the tool returned no rows"))
			}
			return d
		}
	}
	t := r.table("MCP list_results, global 168 h", "An answer of MCP has a summary and holds its rows twice. Without a limit it ends where an agent can still read it.")
	series := r.compare(ctx, t, r.size.warm, r.size.readRounds,
		contestant{"MCP list_results, limit 10,000", list(whole)},
		contestant{"REST page of 10,000", r.pages(r.world.database, mandate, query)},
		contestant{"MCP list_results, no limit given", list(bounded)},
	)
	if series[0].Rows != series[1].Rows {
		r.failed(fmt.Errorf("MCP gave %d rows, REST %d", series[0].Rows, series[1].Rows))
	}
	r.put("mcp_list_results_vs_rest_page", "MCP list_results of 10,000: time against the REST page", "×", slower(series[0], series[1]), 0, true, "")
}

// toolToken returns a new token of a mandate's account for agents.
func (r *run) toolToken(mandate uint64) string {
	issued, err := r.world.tokens.Issue(auth.Grant{
		Account: contracts.AccountID(1000 + mandate), Audience: nodeURL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"},
	})
	r.failed(err)
	return issued.Token.Reveal()
}

// askTool calls a tool, as a client of the legacy protocol does without a
// session. Its answer is not an error.
func (r *run) askTool(ctx context.Context, token, name string, arguments map[string]any) done {
	d, answer := r.text(ctx, request{
		base: r.world.nodes[r.world.database].url, token: token, path: "/mcp", header: http.Header{"Accept": {"application/json, text/event-stream"}},
		body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments}},
	})
	var a struct {
		Result *struct {
			IsError           bool
			StructuredContent struct {
				Paging struct{ Returned int64 }
			}
		}
	}
	r.failed(json.Unmarshal(answer, &a))
	if a.Result == nil || a.Result.IsError {
		r.failed(errors.New("the tool failed: " + string(answer[:min(len(answer), 1000)])))
		return d
	}
	d.rows = a.Result.StructuredContent.Paging.Returned
	return d
}
