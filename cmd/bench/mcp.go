package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"preismon/contracts"
	"preismon/query/auth"
)

// measureMCP compares the tool list_results with the REST page that it
// corresponds to. Its answer contains each row twice: as structured content and
// as text, which is escaped once more.
func (r *run) measureMCP(ctx context.Context) error {
	const mandate, limit = 1, 10_000
	query := window(r.data.from, r.data.to, "globalScope", "true", "limit", fmt.Sprint(limit))
	whole := map[string]any{"globalScope": true, "capturedFrom": query.Get("capturedFrom"), "capturedTo": query.Get("capturedTo"), "limit": limit}
	bounded := map[string]any{"globalScope": true, "capturedFrom": query.Get("capturedFrom"), "capturedTo": query.Get("capturedTo")}
	series, err := r.interleave(ctx, r.size.warm, r.size.readRounds,
		contestant{"MCP list_results, limit 10,000", func(ctx context.Context) (done, error) { return r.callTool(ctx, mandate, "list_results", whole) }},
		contestant{"REST page of 10,000", r.paged(r.world.database, mandate, query)},
		contestant{"MCP list_results, no limit given", func(ctx context.Context) (done, error) { return r.callTool(ctx, mandate, "list_results", bounded) }},
	)
	if err != nil {
		return err
	}
	if series[0].Rows != series[1].Rows {
		return fmt.Errorf("MCP gave %d rows, REST %d", series[0].Rows, series[1].Rows)
	}
	r.result.Tables = append(r.result.Tables, Table{
		Title: "MCP list_results, global 168 h", Series: series,
		Note: "An answer of MCP has a summary and holds its rows twice. Without a limit it ends where an agent can still read it.",
	})
	r.result.put("mcp_list_results_vs_rest_page", "MCP list_results of 10,000: time against the REST page", "×", slower(series[0], series[1]), 0, true, "")
	return nil
}

// callTool calls a tool that lists rows.
func (r *run) callTool(ctx context.Context, mandate uint64, name string, arguments map[string]any) (done, error) {
	token, err := r.toolToken(mandate)
	if err != nil {
		return done{}, err
	}
	d, answer, err := r.askTool(ctx, token, name, arguments)
	if err != nil {
		return d, err
	}
	var a struct {
		Result struct {
			StructuredContent struct {
				Paging struct{ Returned int64 }
			}
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return d, err
	}
	if d.rows = a.Result.StructuredContent.Paging.Returned; d.rows == 0 {
		return d, errors.New("the tool returned no rows: " + string(answer[:min(len(answer), 1000)]))
	}
	return d, nil
}

// toolToken returns a new token of a mandate's account for agents.
func (r *run) toolToken(mandate uint64) (string, error) {
	issued, err := r.world.tokens.Issue(auth.Grant{
		Account: contracts.AccountID(1000 + mandate), Audience: nodeURL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"},
	})
	return issued.Token.Reveal(), err
}

// askTool calls a tool, as a client of the legacy protocol does without a
// session, and returns its answer, which is not an error.
func (r *run) askTool(ctx context.Context, token, name string, arguments map[string]any) (d done, answer []byte, err error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments},
	})
	if err != nil {
		return d, nil, err
	}
	n := r.world.nodes[r.world.database]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return d, nil, err
	}
	req.Host = nodeHost
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	began := time.Now()
	resp, err := r.world.http.Do(req)
	if err != nil {
		return d, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return d, nil, err
	}
	d = done{took: time.Since(began), bytes: int64(len(answer))}
	var a struct {
		Result *struct{ IsError bool }
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return d, nil, fmt.Errorf("%s: %w", resp.Status, err)
	}
	if a.Result == nil || a.Result.IsError {
		return d, nil, errors.New("the tool failed: " + string(answer[:min(len(answer), 1000)]))
	}
	return d, answer, nil
}
