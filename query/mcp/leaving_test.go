package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestLeavingFreesAll: a second after clients left, nothing is left of their
// calls, no statement in ClickHouse and no goroutine.
func TestLeavingFreesAll(t *testing.T) {
	d := newDemo(t, func(set *agentSettings) { set.throttle.HeavyAtOnce = 64 })
	opt := must.Get(clickhouse.ParseDSN(d.db.AdminDSN))(t)
	conn := must.Get(clickhouse.Open(opt))(t)
	t.Cleanup(func() { _ = conn.Close() })
	client := &http.Client{Transport: &http.Transport{}}
	order, site := d.order(askedOrder).OrderID, d.siteNamed(askedSite)
	d.running(t, conn) // opens its connection
	d.agents.Client().CloseIdleConnections()
	time.Sleep(time.Second)
	before := runtime.NumGoroutine()
	var calls atomic.Int64
	for _, q := range []twin{ // in each the window differs from call to call: nothing is remembered
		{"list_results", "capturedFrom", object{"site": site, "limit": 10_000, "includeExportFields": true}},
		{"list_result_changes", "since", object{"site": site}},
		{"get_market_price_position", "", object{"orderId": order}},
		{"list_order_observation_quality", "", object{"orderId": order, "limit": 1000}},
	} {
		ctx, leave := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				for ctx.Err() == nil {
					arguments := object{}
					for name, value := range q.arguments {
						arguments[name] = value
					}
					if q.path != "" {
						arguments[q.path] = d.now.Add(-72*time.Hour - time.Duration(calls.Add(1))*time.Second).Format(time.RFC3339)
					}
					d.askFor(ctx, client, q.tool, arguments)
				}
			})
		}
		for began := time.Now(); d.running(t, conn) == 0; time.Sleep(time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				t.Fatalf("%s: no statement runs", q.tool)
			}
		}
		left := time.Now()
		leave()
		asking.Wait()
		client.CloseIdleConnections()
		const spare = 5 // for pools, which vary
		for d.running(t, conn) > 0 || runtime.NumGoroutine() > before+spare {
			if time.Since(left) > time.Second {
				t.Fatalf("%s: %d statements, %d goroutines of %d", q.tool, d.running(t, conn), runtime.NumGoroutine(), before)
			}
			time.Sleep(time.Millisecond)
		}
		t.Logf("tool=%s freed_after=%s", q.tool, time.Since(left).Round(time.Millisecond))
	}
}

// running counts the statements on the demo's tables.
func (d *demo) running(t *testing.T, conn driver.Conn) (n uint64) {
	t.Helper()
	must.Do(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE current_database = ? AND query NOT LIKE '%system.processes%'", d.db.Database).Scan(&n))
	return n
}

// askFor calls a tool while ctx lasts, whatever the result.
func (d *demo) askFor(ctx context.Context, client *http.Client, tool string, arguments object) {
	body, _ := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": tool, "arguments": arguments}})
	issued, err := d.agents.auth.Issue(auth.Grant{Account: d.account, Audience: baseURL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}, Client: "c", Session: "s"})
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.agents.URL+"/mcp", bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Host = "prices.example.test"
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + issued.Token.Reveal()}}
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
