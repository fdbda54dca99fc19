package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/mcp"
)

// The protocol's conformance suite needs tools, prompts and resources of its
// own, which the service does not offer. Here they are served through our
// transport (MCP-11). The service itself is tested in cmd/preismon.
func TestConformance(t *testing.T) {
	const issuer = "http://127.0.0.1"
	s := serve(t, func(set *settings) {
		set.mcp.BaseURL, set.catalogue = issuer, suiteCatalogue()
		set.throttle.Reads.Requests = 1 << 20
	})
	token := s.token(func(g *auth.Grant) { g.Audience = issuer + "/mcp" })
	to := must.Get(url.Parse(s.URL))(t)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { // the suite has no option for a token
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tools.Conformance{
				Of: "server", Args: []string{"--url", proxy.URL + "/mcp", "--requirements", version}, List: "testdata/conformance.txt", Partly: true,
			}.Run(t)
		})
	}
}

// suiteCatalogue offers what scenarios of the suite call by name, as far as a
// catalogue can express it: an object, a text.
func suiteCatalogue() mcp.Catalogue {
	tool := func(name, schema string, run func() (mcp.Result, error)) mcp.Tool {
		return mcp.Tool{
			Descriptor: sdk.Tool{Name: name, Description: "The suite calls it.", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(`{"type":"object"}`)},
			Run:        func(context.Context, mcp.Call) (mcp.Result, error) { return run() },
		}
	}
	object := func() (mcp.Result, error) { return mcp.Result{Object: json.RawMessage(`{"text":"simple"}`)}, nil }
	prompt := func(name string, text func(map[string]string) string, arguments ...*sdk.PromptArgument) mcp.Prompt {
		return mcp.Prompt{
			Descriptor: sdk.Prompt{Name: name, Description: "The suite gets it.", Arguments: arguments},
			Text: func(_ context.Context, _ query.Principal, a map[string]string) (string, error) {
				return text(a), nil
			},
		}
	}
	return mcp.Catalogue{
		Tools: []mcp.Tool{
			tool("test_simple_text", `{"type":"object"}`, object),
			tool("test_error_handling", `{"type":"object"}`, func() (mcp.Result, error) {
				return mcp.Result{}, fault.New(fault.Invalid, query.CodeForbidden, "This tool fails on purpose.")
			}),
			tool("json_schema_2020_12_tool", schema202012, object),
		},
		Prompts: []mcp.Prompt{
			prompt("test_simple_prompt", func(map[string]string) string { return "A simple prompt." }),
			prompt("test_prompt_with_arguments", func(a map[string]string) string { return "arg1=" + a["arg1"] + ", arg2=" + a["arg2"] },
				&sdk.PromptArgument{Name: "arg1", Required: true}, &sdk.PromptArgument{Name: "arg2", Required: true}),
		},
		Resources: []mcp.Resource{
			{
				Descriptor: sdk.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"},
				Read:       func(context.Context, query.Principal, string) ([]byte, error) { return []byte("A text."), nil },
			},
			{
				Template: &sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
				Read: func(_ context.Context, _ query.Principal, uri string) ([]byte, error) {
					return json.Marshal(map[string]string{"uri": uri, "id": uri[len("test://template/") : len(uri)-len("/data")]})
				},
			},
		},
	}
}

// schema202012 uses what JSON Schema 2020-12 added to its predecessors.
const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`
