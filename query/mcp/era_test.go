package mcp_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
)

const (
	modern     = "2026-07-28"
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

var legacies = []string{"2025-03-26", "2025-06-18", "2025-11-25"}

// modern builds a request of the modern era; members are the members of its
// params in addition to _meta.
func (s *surface) modern(method, name, members string) *request {
	if members != "" {
		members += ","
	}
	r := s.request(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + modernMeta + `}}`)
	r.with("MCP-Protocol-Version", modern).with("mcp-method", method)
	if name != "" {
		r.with("mcp-name", name)
	}
	return r
}

func (s *surface) legacy(method, params string) *request {
	return s.request(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`)
}

// MCP-02, MCP-05, MCP-11: each legacy version is accepted, and so is no
// version.
func TestLegacyVersions(t *testing.T) {
	s := serve(t)
	for _, version := range append([]string{""}, legacies...) {
		for method, params := range map[string]string{
			"ping": "", "tools/list": "", "tools/call": `"name":"echo"`, "prompts/list": "", "prompts/get": `"name":"greet","arguments":{"who":"you"}`,
			"resources/list": "", "resources/templates/list": "", "resources/read": `"uri":"svc://guide"`,
		} {
			r := s.legacy(method, params)
			if version != "" {
				r.with("MCP-Protocol-Version", version)
			}
			result := r.send().wantResult(t)
			for _, member := range []string{"resultType", "ttlMs", "cacheScope", "_meta"} {
				if _, there := result[member]; there {
					t.Errorf("%s %s: %s in the legacy era", version, method, member)
				}
			}
		}
	}
}

// MCP-10a, MCP-11, MCP-13: initialize echoes a known version, and answers an
// unknown one with another.
func TestInitialize(t *testing.T) {
	s := serve(t)
	for asked, want := range map[string]string{
		"2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2024-11-05": "2025-11-25", "2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "nonsense": "2025-11-25",
	} {
		got := s.legacy("initialize", `"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}`).send().wantResult(t)
		if diff := cmp.Diff(map[string]any{
			"protocolVersion": want, "instructions": "Read before you ask.",
			"serverInfo":   map[string]any{"name": "preismon", "version": build},
			"capabilities": map[string]any{"tools": map[string]any{}, "prompts": map[string]any{}, "resources": map[string]any{}},
		}, got); diff != "" {
			t.Errorf("%s: %s", asked, diff)
		}
	}
}

// Clients of both eras, like mcp-remote, send the header of the modern era with
// a legacy initialize, before they know which one is spoken. It must match.
func TestInitializeOfBothEras(t *testing.T) {
	s := serve(t)
	initialize := func() *request {
		return s.legacy("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}`)
	}
	initialize().with("mcp-method", "initialize").send().wantResult(t)
	initialize().with("mcp-method", "ping").send().wantError(t, http.StatusBadRequest, -32020)
	initialize().with("mcp-method", "").with("mcp-name", "echo").send().wantResult(t) // initialize has no name to compare
}

// MCP-02, MCP-07, choices 54: an unknown version is 400 with the known ones.
func TestUnknownVersion(t *testing.T) {
	s := serve(t)
	for _, version := range []string{"2024-11-05", "2026-07-29", "1900-01-01", "nonsense", strings.Repeat("9", 5000)} {
		got := s.legacy("tools/list", "").with("MCP-Protocol-Version", version).send().wantError(t, http.StatusBadRequest, -32022)
		equals.Check(t, []any{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}, got.Error.Data["supported"])
		if string(got.ID) != "1" || len(got.Error.Data["requested"].(string)) > 110 {
			t.Errorf("id %s, requested %v", got.ID, got.Error.Data["requested"])
		}
	}
	s.request(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`).with("MCP-Protocol-Version", "2024-11-05").send().wantError(t, http.StatusBadRequest, -32022)
}

// MCP-02, MCP-03, MCP-04, choices 54, checklist 32: in the modern era the
// headers must match the body.
func TestModernHeaders(t *testing.T) {
	s := serve(t)
	const mismatch, params = -32020, -32602
	encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte("echo")) + "?="
	for name, c := range map[string]struct {
		request *request
		code    int // 0: a result
	}{
		"a list":                      {s.modern("tools/list", "", ""), 0},
		"a call":                      {s.modern("tools/call", "echo", `"name":"echo"`), 0},
		"a prompt":                    {s.modern("prompts/get", "greet", `"name":"greet","arguments":{"who":"you"}`), 0},
		"a resource":                  {s.modern("resources/read", "svc://guide", `"uri":"svc://guide"`), 0},
		"a name in base64":            {s.modern("tools/call", encoded, `"name":"echo"`), 0},
		"a name that is not needed":   {s.modern("tools/list", "whatever", ""), 0},
		"no version, modern _meta":    {s.modern("tools/list", "", "").without("Mcp-Protocol-Version").without("Mcp-Method"), mismatch},
		"no version, mcp-method":      {s.legacy("tools/list", "").with("mcp-method", "tools/list"), mismatch},
		"no version, mcp-name":        {s.legacy("tools/call", `"name":"echo"`).with("mcp-name", "echo"), mismatch},
		"no version, server/discover": {s.legacy("server/discover", ""), mismatch},
		"legacy version, modern meta": {s.modern("tools/list", "", "").with("MCP-Protocol-Version", "2025-11-25"), mismatch},
		"legacy, another method":      {s.legacy("tools/list", "").with("MCP-Protocol-Version", "2025-11-25").with("mcp-method", "ping"), mismatch},
		"legacy, another name":        {s.legacy("tools/call", `"name":"echo"`).with("MCP-Protocol-Version", "2025-11-25").with("mcp-name", "fill"), mismatch},
		"two versions":                {twice(s.modern("tools/list", "", ""), "Mcp-Protocol-Version"), mismatch},
		"two methods":                 {twice(s.modern("tools/list", "", ""), "Mcp-Method"), mismatch},
		"no method":                   {s.modern("tools/list", "", "").without("Mcp-Method"), mismatch},
		"empty method":                {s.modern("tools/list", "", "").with("Mcp-Method", ""), mismatch},
		"another method":              {s.modern("tools/list", "", "").with("mcp-method", "prompts/list"), mismatch},
		"method in another case":      {s.modern("tools/list", "", "").with("mcp-method", "Tools/List"), mismatch},
		"call without a name":         {s.modern("tools/call", "", `"name":"echo"`), mismatch},
		"prompt without a name":       {s.modern("prompts/get", "", `"name":"greet","arguments":{"who":"you"}`), mismatch},
		"resource without a name":     {s.modern("resources/read", "", `"uri":"svc://guide"`), mismatch},
		"call of another name":        {s.modern("tools/call", "fill", `"name":"echo"`), mismatch},
		"prompt of another name":      {s.modern("prompts/get", "great", `"name":"greet","arguments":{"who":"you"}`), mismatch},
		"resource of another name":    {s.modern("resources/read", "svc://other", `"uri":"svc://guide"`), mismatch},
		"name in no base64":           {s.modern("tools/call", "=?base64?!?=", `"name":"echo"`), mismatch},
		"body without a name":         {s.modern("tools/call", "echo", ""), mismatch},
		"body with a number":          {s.modern("tools/call", "1", `"name":1`), mismatch},
		"another version in _meta":    {changed(s.modern("tools/list", "", ""), modern, "2025-11-25"), mismatch},
		"no _meta":                    {changed(s.modern("tools/list", "", ""), modernMeta, `"x":1`), params},
		"no params":                   {changed(s.modern("tools/list", "", ""), `,"params":{`+modernMeta+`}`, ""), params},
		"no version in _meta":         {changed(s.modern("tools/list", "", ""), `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, ""), params},
		"no capabilities in _meta":    {changed(s.modern("tools/list", "", ""), `,"io.modelcontextprotocol/clientCapabilities":{}`, ""), params},
		"capabilities a text":         {changed(s.modern("tools/list", "", ""), `clientCapabilities":{}`, `clientCapabilities":"x"`), params},
		"_meta a text":                {changed(s.modern("tools/list", "", ""), modernMeta, `"_meta":"x"`), params},
		"client info a number":        {changed(s.modern("tools/list", "", ""), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":1,`), params},
		"discover without _meta":      {changed(s.modern("server/discover", "", ""), modernMeta, ""), params},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.t = t
			a := c.request.send()
			if c.code == 0 {
				a.wantResult(t)
				return
			}
			if got := a.wantError(t, http.StatusBadRequest, c.code); string(got.ID) != "1" && !strings.HasPrefix(name, "two") && name != "name in no base64" {
				t.Errorf("id %s", got.ID)
			}
		})
	}
}

func twice(r *request, header string) *request {
	r.header[header] = append(r.header[header], r.header[header]...)
	return r
}

func changed(r *request, from, to string) *request {
	if !strings.Contains(r.body, from) {
		panic("nothing to change: " + from)
	}
	r.body = strings.ReplaceAll(r.body, from, to)
	return r
}
