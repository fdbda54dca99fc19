package mcp_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/mcp"
)

// MCP-10b: the first request of the modern era.
func TestDiscover(t *testing.T) {
	got := serve(t).modern("server/discover", "", "").send().wantResult(t)
	if diff := cmp.Diff(map[string]any{
		"resultType": "complete", "ttlMs": float64(300_000), "cacheScope": "public", "instructions": "Read before you ask.",
		"supportedVersions": []any{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"},
		"capabilities":      map[string]any{"tools": map[string]any{}, "prompts": map[string]any{}, "resources": map[string]any{}},
		"_meta":             map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "preismon", "version": build}},
	}, got); diff != "" {
		t.Error(diff)
	}
}

// Choices 55, checklist 34: the additional members of results in the modern
// era.
func TestModernMembers(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ method, name, params, scope string }{
		{"tools/list", "", "", "public"},
		{"prompts/list", "", "", "public"},
		{"resources/list", "", "", "public"},
		{"resources/templates/list", "", "", "public"},
		{"resources/read", "svc://guide", `"uri":"svc://guide"`, "private"},
		{"tools/call", "echo", `"name":"echo"`, ""},
		{"tools/call", "missing", `"name":"missing"`, ""},
		{"prompts/get", "greet", `"name":"greet","arguments":{"who":"you"}`, ""},
	} {
		got := s.modern(c.method, c.name, c.params).send().wantResult(t)
		equals.Checkf(t, map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "preismon", "version": build}}, got["_meta"], "%s", c.method)
		if got["resultType"] != "complete" {
			t.Errorf("%s: resultType %v", c.method, got["resultType"])
		}
		_, lasts := got["ttlMs"].(float64)
		scope, _ := got["cacheScope"].(string)
		if scope != c.scope || lasts != (c.scope != "") {
			t.Errorf("%s: scope %q, ttl %v", c.method, scope, got["ttlMs"])
		}
	}
}

// MCP-12a, MCP-12b, MCP-12c, MCP-14: the modern era has members of tools that
// the legacy one does not know.
func TestDescriptors(t *testing.T) {
	s := serve(t)
	for _, version := range append(slices.Clone(legacies), modern) {
		r := s.legacy("tools/list", "").with("MCP-Protocol-Version", version)
		if version == modern {
			r = s.modern("tools/list", "", "")
		}
		tools := r.send().wantResult(t)["tools"].([]any)
		if len(tools) != 11 {
			t.Fatalf("%d tools", len(tools))
		}
		for _, one := range tools {
			tool := one.(map[string]any)
			want := map[string]any{"name": tool["name"], "description": "A tool of tests.", "inputSchema": map[string]any{"type": "object"}}
			if version == modern {
				want["outputSchema"] = map[string]any{"type": "object"}
				want["annotations"] = map[string]any{"readOnlyHint": true, "openWorldHint": false, "destructiveHint": false}
			}
			equals.Checkf(t, want, tool, "%s", version)
		}
	}
}

// Choices 54: a method that is not served is 200 in the legacy era and 404 in
// the modern one. Methods that need a session or a stream are not served.
func TestUnknownMethods(t *testing.T) {
	s := serve(t)
	for _, method := range []string{"no/such", "tools", "logging/setLevel", "completion/complete", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "notifications/initialized", "sampling/createMessage"} {
		s.legacy(method, "").send().wantError(t, http.StatusOK, -32601)
		s.modern(method, "", "").send().wantError(t, http.StatusNotFound, -32601)
	}
	for _, method := range []string{"initialize", "ping"} {
		s.modern(method, "", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}`).send().wantError(t, http.StatusNotFound, -32601)
	}
	s.legacy("server/discover", "").with("MCP-Protocol-Version", "2025-11-25").send().wantError(t, http.StatusOK, -32601)
	changed(s.modern("no/such", "", ""), modernMeta, "").send().wantError(t, http.StatusNotFound, -32601)
}

// MCP-10c, MCP-10d, MCP-10e: names that do not exist, and params that do not
// belong to the method.
func TestParamsNotValid(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ method, name, params string }{
		{"tools/call", "no_such", `"name":"no_such"`},
		{"tools/call", "echo", `"name":"echo","task":1,"_meta":[]`},
		{"prompts/get", "no-such", `"name":"no-such"`},
		{"prompts/get", "greet", `"name":"greet"`},
		{"prompts/get", "greet", `"name":"greet","arguments":{"who":7}`},
		{"resources/read", "svc://no/such/thing", `"uri":"svc://no/such/thing"`},
		{"resources/read", "svc://sites/none", `"uri":"svc://sites/none"`},
		{"resources/read", "file:///etc/passwd", `"uri":"file:///etc/passwd"`},
		{"tools/list", "", `"cursor":"not one of ours"`},
	} {
		got := s.legacy(c.method, c.params).send().wantError(t, http.StatusOK, -32602)
		if strings.Contains(got.Error.Message, "sdk") || strings.Contains(got.Error.Message, "json") || strings.Contains(got.Error.Message, "mcp.") {
			t.Errorf("%s tells of our insides: %s", c.method, got.Error.Message)
		}
		if strings.Contains(c.params, "_meta") {
			continue
		}
		s.modern(c.method, c.name, c.params).send().wantError(t, http.StatusBadRequest, -32602)
	}
	s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`).wantError(t, http.StatusOK, -32602)
	got := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+strings.Repeat("n", 900_000)+`"}}`).wantError(t, http.StatusOK, -32602)
	if len(got.Error.Message) > 110 {
		t.Errorf("%d bytes of what was sent are sent back", len(got.Error.Message))
	}
}

// MCP-10a, MCP-05: initialize with params of another type is a mistake of the
// client, reported like one in any other method, and nothing is logged.
func TestInitializeParamsNotValid(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("n", 900_000)
	for _, params := range []string{
		`"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"c","version":"1"}`,
		`"protocolVersion":"2025-11-25","capabilities":5,"clientInfo":{"name":"c","version":"1"}`,
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":"x"`,
		`"protocolVersion":5,"clientInfo":{"name":"` + long + `"}`,
	} {
		got := s.legacy("initialize", params).send().wantError(t, http.StatusOK, -32602)
		if m := got.Error.Message; len(m) > 110 || strings.Contains(m, "json") || strings.Contains(m, "mcp.") {
			t.Errorf("%.300s", m)
		}
	}
	equals.Is(t, "", s.log.String(), "logged")
}

// For an SDK error that the client did not cause, only the beginning is logged:
// the error may contain everything that was sent.
func TestErrorsOfTheSDKAreClipped(t *testing.T) {
	log := &testserver.LogBuffer{}
	mcp.RefuseSDK(slog.New(slog.NewJSONHandler(log, nil)), errors.New("strange: "+strings.Repeat("n", 900_000)))
	if got := log.String(); !strings.Contains(got, `"level":"ERROR"`) || !strings.Contains(got, "sdk: strange: nnn") || len(got) > 600 {
		t.Errorf("%d bytes: %.700s", len(got), got)
	}
}

// MCP-06: a notification is accepted and not answered, whatever it contains.
func TestNotifications(t *testing.T) {
	s := serve(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/no/such","params":{}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`,
		`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`,
	} {
		for _, version := range append([]string{""}, legacies...) {
			r := s.request(body)
			if version != "" {
				r.with("MCP-Protocol-Version", version)
			}
			if a := r.send(); a.status != http.StatusAccepted || a.body != "" {
				t.Errorf("%s: %d %s", body, a.status, a.body)
			}
		}
	}
	note := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	if a := s.request(note).with("MCP-Protocol-Version", modern).send(); a.status != http.StatusAccepted {
		t.Errorf("modern: %d %s", a.status, a.body)
	}
	s.request(note).with("MCP-Protocol-Version", modern).with("mcp-method", "ping").send().wantError(t, http.StatusBadRequest, -32020)
	equals.Slices(t, nil, s.calls.noted(), "tools ran")
}

// Choices 52: a result is shown twice, with the same content.
func TestToolResult(t *testing.T) {
	s := serve(t)
	arguments := `{"a":"\"\\\u0001 <&> ü \u2028 ` + "\u007f\u0085" + `","n":1.50,"deep":{"x":[null,true]}}`
	for _, r := range []*request{
		s.legacy("tools/call", `"name":"echo","arguments":`+arguments), s.modern("tools/call", "echo", `"name":"echo","arguments":`+arguments),
	} {
		got := r.send().wantResult(t)
		content := got["content"].([]any)[0].(map[string]any)
		var text any
		must.Do(t, json.Unmarshal([]byte(content["text"].(string)), &text))
		if diff := cmp.Diff(got["structuredContent"], text); diff != "" || len(got["content"].([]any)) != 1 || content["type"] != "text" {
			t.Error(got)
		}
		if !strings.Contains(content["text"].(string), `"n":1.50`) || text.(map[string]any)["account"] != "7" {
			t.Errorf("not what the tool gave: %s", content["text"])
		}
	}
	for _, arguments := range []string{`null`, `{}`} {
		got := s.legacy("tools/call", `"name":"echo","arguments":`+arguments).send().wantResult(t)
		equals.Check(t, map[string]any{"account": "7", "arguments": map[string]any{}}, got["structuredContent"])
	}
}
