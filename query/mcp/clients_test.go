package mcp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/deploy/testserver/must"
)

// authorized is an HTTP transport that adds the client's token, and records the
// versions that it speaks.
type authorized struct {
	s        *surface
	host     string
	versions map[string]bool
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.s.token())
	r.Host = a.host
	a.versions[r.Header.Get("Mcp-Protocol-Version")] = true
	return http.DefaultTransport.RoundTrip(r)
}

// The SDK's own client works in each era: MCP-10a to MCP-10e, MCP-14.
func TestClientsOfTheSDK(t *testing.T) {
	for _, version := range append([]string{modern}, legacies...) {
		t.Run(version, func(t *testing.T) {
			s := serve(t)
			ctx := t.Context()
			wire := authorized{s, "prices.example.test", map[string]bool{}}
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
				Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: wire}, DisableStandaloneSSE: true,
			}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			must.Do(t, err)
			defer session.Close()
			if got := session.InitializeResult(); got == nil || got.ServerInfo == nil || got.ServerInfo.Version != build || got.Instructions == "" || got.ProtocolVersion != version {
				t.Errorf("initialized with %+v", got)
			}
			tools := must.Get(session.ListTools(ctx, nil))(t)
			prompts := must.Get(session.ListPrompts(ctx, nil))(t)
			resources := must.Get(session.ListResources(ctx, nil))(t)
			templates := must.Get(session.ListResourceTemplates(ctx, nil))(t)
			if len(tools.Tools) != 11 || len(prompts.Prompts) != 1 || len(resources.Resources) != 1 || len(templates.ResourceTemplates) != 1 {
				t.Errorf("lists of %d, %d, %d, %d", len(tools.Tools), len(prompts.Prompts), len(resources.Resources), len(templates.ResourceTemplates))
			}
			result := must.Get(session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"a": "ü\"\\"}}))(t)
			var text any
			must.Do(t, json.Unmarshal([]byte(result.Content[0].(*sdk.TextContent).Text), &text))
			if diff := cmp.Diff(text, result.StructuredContent); diff != "" || result.IsError {
				t.Error(diff)
			}
			result, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "panics"})
			if err != nil || !result.IsError {
				t.Errorf("%v, %v", result, err)
			}
			prompt := must.Get(session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "you"}}))(t)
			if got := prompt.Messages[0].Content.(*sdk.TextContent).Text; got != "Hello you <&>" {
				t.Error(got)
			}
			resource := must.Get(session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "svc://sites/shop.example"}))(t)
			if got := resource.Contents[0]; got.Text != `{"uri":"svc://sites/shop.example"}` || got.MIMEType != "application/json" {
				t.Error(got)
			}
			var no *jsonrpc.Error
			if _, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "no_such"}); !errors.As(err, &no) || no.Code != -32602 {
				t.Errorf("unknown tool: %v", err)
			}
			if _, err = session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "svc://no/such"}); !errors.As(err, &no) || no.Code != -32602 {
				t.Errorf("unknown resource: %v", err)
			}
			if !wire.versions[version] || strings.Contains(s.log.String(), `"msg":"request failed"`) {
				t.Errorf("versions %v, log %s", wire.versions, s.log.String())
			}
		})
	}
}
