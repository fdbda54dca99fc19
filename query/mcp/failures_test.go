package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// wantProblem checks the result of a tool that failed.
func wantProblem(t testing.TB, result map[string]any, status int, code string) map[string]any {
	t.Helper()
	problem, _ := result["structuredContent"].(map[string]any)
	if result["isError"] != true || problem["code"] != code || problem["status"] != float64(status) {
		t.Fatalf("got %v, want a tool error with %d %s", result, status, code)
	}
	if want := baseURL + "/problems/" + strings.ToLower(strings.ReplaceAll(code, "_", "-")); problem["type"] != want {
		t.Errorf("type %v", problem["type"])
	}
	var text map[string]any
	must.Do(t, json.Unmarshal([]byte(result["content"].([]any)[0].(map[string]any)["text"].(string)), &text))
	equals.Check(t, problem, text)
	return problem
}

// MCP-16a: a tool that fails says so in its result. The cause of an internal
// fault is logged and not shown.
func TestToolErrors(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		tool, code string
		status     int
		logged     string
	}{
		{"missing", "ORDER_NOT_FOUND", 404, ""},
		{"broken", "INTERNAL_ERROR", 500, "secret: the table is gone"},
		{"away", "SERVICE_UNAVAILABLE", 503, "secret: server away"},
		{"panics", "INTERNAL_ERROR", 500, "secret: index out of range"},
	} {
		for _, r := range []*request{s.legacy("tools/call", `"name":"`+c.tool+`"`), s.modern("tools/call", c.tool, `"name":"`+c.tool+`"`)} {
			a := r.send()
			wantProblem(t, a.wantResult(t), c.status, c.code)
			if strings.Contains(a.body, "secret") {
				t.Errorf("%s tells: %s", c.tool, a.body)
			}
		}
		if log := s.log.String(); c.logged != "" && (!strings.Contains(log, c.logged) || !strings.Contains(log, `"operation":"tools/call `+c.tool+`"`) || !strings.Contains(log, `"request_id":"request-1"`)) {
			t.Errorf("%s: not logged: %s", c.tool, log)
		}
	}
	if strings.Contains(s.log.String(), "ORDER") || strings.Contains(s.log.String(), "no such order") {
		t.Error("a fault of the client is logged")
	}
	got := s.legacy("tools/call", `"name":"broad"`).send().wantResult(t)
	if diff := cmp.Diff(map[string]any{"attempts": []any{map[string]any{"site": "a"}}}, got["structuredContent"].(map[string]any)["recovery"]); diff != "" || got["isError"] != true {
		t.Error(got)
	}
	wantProblem(t, s.legacy("tools/call", `"name":"echo","arguments":[1]`).send().wantResult(t), 400, "MVP_VALIDATION_ERROR")
}

// A panic outside of a tool is an error of JSON-RPC.
func TestPanicOfAPrompt(t *testing.T) {
	s := serve(t)
	params := `"name":"greet","arguments":{"who":"panic"}`
	for _, r := range []*request{s.legacy("prompts/get", params), s.modern("prompts/get", "greet", params)} {
		a := r.send()
		a.wantError(t, http.StatusOK, -32603)
		if strings.Contains(a.body, "secret") || !strings.Contains(s.log.String(), "secret: a prompt") {
			t.Errorf("told or not logged: %s", a.body)
		}
	}
}

// MCP-09: what an account may not read, or what is unavailable, is also
// reported by the HTTP status where no tool can report it; not within a batch.
func TestFailuresOfResources(t *testing.T) {
	var fails error
	s := serve(t, func(set *settings) {
		set.catalogue.Resources[0].Read = func(context.Context, query.Principal, string) ([]byte, error) { return nil, fails }
	})
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"svc://guide"}}`
	for _, c := range []struct {
		err          error
		status, code int
		retry        string
	}{
		{fault.New(fault.Forbidden, query.CodeForbidden, "This account may not read sites."), 403, 403, ""},
		{&fault.Error{Kind: fault.Unavailable, RetryAfter: 2 * time.Second}, 503, 503, "2"},
		{context.DeadlineExceeded, 200, 504, ""},
		{errors.New("secret: gone"), 200, -32603, ""},
		{fault.New(fault.Invalid, query.CodeValidation, "uri: no."), 200, -32602, ""},
	} {
		fails = c.err
		a := s.post(read)
		a.wantError(t, c.status, c.code)
		if a.header.Get("Retry-After") != c.retry || strings.Contains(a.body, "secret") || a.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%v %s", a.header, a.body)
		}
		if a = s.post("[" + read + "]"); a.status != http.StatusOK || a.replies(t)[0].Error.Code != c.code {
			t.Errorf("batch: %d %s", a.status, a.body)
		}
	}
}

// MCP-08: an account that is no longer valid must get another token, even when
// only a tool notices.
func TestAccountNotGoodAnyMore(t *testing.T) {
	a := serve(t).legacy("tools/call", `"name":"disabled"`).send()
	a.wantError(t, http.StatusUnauthorized, http.StatusUnauthorized)
	if !strings.Contains(a.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Error(a.header)
	}
}

// A running call ends when its session is revoked, and so does a batch: the
// client is told to get another token. Choice 67.
func TestCallsDoNotOutliveTheirToken(t *testing.T) {
	for name, body := range map[string]string{
		"call":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits"}}`,
		"batch": `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"waits"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			began := make(chan time.Time, 1)
			go func() {
				<-s.calls.began
				began <- time.Now()
				_ = s.revoked.Revoke(context.Background(), "session-1", time.Now().Add(time.Hour))
			}()
			a := s.post(body)
			a.wantError(t, http.StatusUnauthorized, http.StatusUnauthorized)
			if !strings.Contains(a.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
				t.Error(a.header)
			}
			t.Logf("ended after %v", time.Since(<-began))
			<-s.calls.left
		})
	}
}

// A POST leaves nothing behind, however it ends: a synctest bubble does not end
// before its goroutines.
func TestNothingStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := handlerOf(t)
		for _, r := range []*request{
			s.request(ping), s.request(batchOf(3, `"method":"tools/list"`)), s.modern("tools/call", "echo", `"name":"echo"`), s.request(`{`),
			s.legacy("tools/call", `"name":"panics"`), s.legacy("prompts/get", `"name":"greet"`), s.legacy("initialize", `"protocolVersion":"2025-11-25"`),
			s.legacy("tools/call", `"name":"no_such"`), s.legacy("tools/call", `"name":7`), s.legacy("initialize", ""),
		} {
			h.ServeHTTP(httptest.NewRecorder(), r.incoming(t.Context()))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.calls.began
			cancel()
			<-s.calls.left
		}()
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("an answer for nobody")
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), s.legacy("tools/call", `"name":"waits"`).incoming(ctx))
	})
}

// incoming returns the request as a handler sees it.
func (r *request) incoming(ctx context.Context) *http.Request {
	in := httptest.NewRequestWithContext(ctx, r.method, "http://"+r.host+"/mcp", strings.NewReader(r.body))
	in.Header = r.header
	return in
}

// A client that leaves ends its request, in each era.
func TestClientLeaves(t *testing.T) {
	s := serve(t)
	for _, r := range []*request{
		s.legacy("tools/call", `"name":"waits"`), s.modern("tools/call", "waits", `"name":"waits"`),
		s.request(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}]`),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/mcp", strings.NewReader(r.body)))(t)
		req.Header, req.Host = r.header, r.host
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := s.Client().Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		<-s.calls.began
		cancel()
		<-done
		select {
		case err := <-s.calls.left:
			if err == nil {
				t.Error("not ended")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the tool goes on")
		}
	}
	s.Close() // waits for the handlers
	for _, name := range s.calls.noted() {
		if name == "echo" {
			t.Error("the rest of a batch ran")
		}
	}
}

// A refusal names everything that is wrong, each fault once, not just the first
// one.
func TestAllFaultsOfACallAreNamed(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	for _, c := range []struct {
		tool      string
		arguments object
		named     []string
	}{
		{
			"list_results",
			object{"limit": 0, "asin": "B000000001", "latestPerPair": true, "latestObservationPerPair": true, "sort": "up", "coverageState": "GOOD", "timezone": "Mars", "capturedFrom": "soon", "capturedTo": "later"},
			[]string{"limit:", "asin:", "exclude each other", "sort:", "coverageState:", "timezone:", "capturedFrom:", "capturedTo:"},
		},
		{"list_results", object{"limit": "5", "ean": "1", "site": "Shop One", "isPrime": "maybe", "nope": 1}, []string{"limit:", "ean:", "site:", "isPrime:", `"nope"`}},
		{
			"list_result_changes",
			object{"since": "then", "until": "later", "kind": "UP", "timezone": "Nowhere", "asinLocale": "de", "limit": 0},
			[]string{"since:", "until:", "kind:", "timezone:", "asinLocale:", "limit:"},
		},
		// Faults of form and of meaning, and none that only follows from
		// another.
		{"list_results", object{"latestPerPair": "true", "latestObservationPerPair": true, "limit": "5", "ean": "1", "sort": "up", "capturedFrom": "soon"}, []string{"latestPerPair: ", "boolean true", "limit:", "ean:", "sort:", "capturedFrom:"}},
		{"list_results", object{"limit": "5", "capturedFrom": "2026-11-01"}, []string{"limit:", "needs a selector"}},
		{"list_results", object{"sort": "up", "capturedFrom": "2026-11-01"}, []string{"sort:", "needs a selector"}},
		{"list_result_changes", object{"itemId": "eleven", "since": "then", "kind": "UP"}, []string{"itemId:", "since:", "kind:"}},
		{"get_market_price_position", object{"site": "Shop One", "amount": "all"}, []string{"site:", "amount:"}},
		{"get_market_price_position", object{"ean": "1", "candidatePrice": "cheap"}, []string{"ean:", "candidatePrice:"}},
		{"list_result_changes", object{"since": "2030-01-01"}, []string{"since: lies in the future", "since needs a product"}},
		{"get_market_price_position", object{"amount": "all", "limit": 0}, []string{"amount:", "limit:"}},
		{"get_market_price_position", object{"candidatePrice": "cheap", "currencyCode": "Euro", "country": "Germany", "asin": "B000000001"}, []string{"candidatePrice:", "currencyCode:", "country:", "asinLocale"}},
		{"get_market_price_position", object{"candidatePrice": "x", "country": "Germany", "currencyCode": "Euro"}, []string{"candidatePrice:", "country:", "currencyCode:", "exactly one"}},
		{"list_items", object{"name": "!!", "asin": "B000000001", "limit": 0}, []string{"name:", "asin:", "limit:"}},
		{"list_order_observation_quality", object{"orderId": 5, "reasonCode": "BAD", "limit": 0}, []string{"reasonCode:", "limit:"}},
		{"list_order_export_history", object{"orderId": 5, "dateFrom": "x", "dateTo": "y", "limit": 0}, []string{"dateFrom:", "dateTo:", "limit:"}},
		{"list_sites", object{"site": "Ü", "limit": "x", "more": 1}, []string{"site:", "limit:", "more"}},
		{"list_sites", object{"site": "Ü", "limit": 0}, []string{"site:", "limit:"}},
		{"list_items", object{"ean": "1", "limit": 0, "name": "!!"}, []string{"ean:", "limit:", "name:"}},
		{"list_orders", object{"orderId": "five", "limit": 0}, []string{"orderId:", "limit:"}},
		{"list_order_observation_quality", object{"orderId": 5, "site": "Ü", "reasonCode": "BAD", "limit": 0}, []string{"site:", "reasonCode:", "limit:"}},
		{"list_order_export_history", object{"orderId": 5, "dateFrom": "x", "limit": "5"}, []string{"dateFrom:", "limit:"}},
	} {
		p := a.call(c.tool, c.arguments).failed("MVP_VALIDATION_ERROR")
		for _, name := range c.named {
			if strings.Count(p.Detail, name) != 1 {
				t.Errorf("%s %v does not say once %q: %s", c.tool, c.arguments, name, p.Detail)
			}
		}
	}
}

// A fault of form is not reported again as one of meaning, and for an unknown
// argument the answer lists the known ones.
func TestNothingFollowsFromAFault(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	for _, c := range []struct {
		arguments object
		without   string
	}{
		{object{"site": "Shop One", "capturedFrom": "2026-11-01"}, "needs a selector"},
		{object{"itemId": "", "capturedFrom": "2026-11-01"}, "needs a selector"},
		{object{"asin": "b0", "asinLocale": "de"}, "needs asin"},
		{object{"globalScope": "yes", "capturedFrom": "2026-11-01", "capturedTo": "2026-11-01"}, "needs a selector"},
		{object{"sites": "shop-one", "capturedFrom": "2026-11-01"}, "needs a selector"},
	} {
		p := a.call("list_results", c.arguments).failed("MVP_VALIDATION_ERROR")
		if strings.Contains(p.Detail, c.without) {
			t.Errorf("%v: %s", c.arguments, p.Detail)
		}
	}
	for arguments, want := range map[string]string{"sites": "site", "zzzzzz": "latestObservationPerPair"} {
		if p := a.call("list_results", object{arguments: "x"}).failed("MVP_VALIDATION_ERROR"); p.Recovery == nil || !strings.Contains(p.Recovery.Guidance, want) {
			t.Errorf("%s: %+v", arguments, p.Recovery)
		}
	}
	a.call("list_results", object{"limit": 5.0, "site": "shop-one"}).ok()
}
