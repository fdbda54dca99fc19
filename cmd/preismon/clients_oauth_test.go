package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// walked is what the person saw during the login.
type walked struct {
	End   string
	Pages []string
}

// goClient: the official Go client, given nothing but the URL. Its tokens are
// renewed before each request, as if they had expired (OAUTH-01c).
func (c *clientsTest) goClient(t *testing.T) {
	redirect, answers := callback(t)
	var tokens oauth2.TokenSource
	handler := must.Get(auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go client", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, asked *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			var way walked
			c.script(t, "person-main.mjs", map[string]any{"url": asked.URL, "redirect": redirect}, &way)
			if way.End == "" {
				return nil, errors.New("the person did not come to the end")
			}
			checkPages(t, way.Pages, "Go client")
			select {
			case q := <-answers:
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			case <-time.After(time.Minute):
				return nil, context.DeadlineExceeded
			}
		},
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			if token.RefreshToken == "" || !strings.Contains(token.Extra("scope").(string), "offline_access") {
				t.Errorf("no refresh token, scope %v", token.Extra("scope"))
			}
			token.Expiry = time.Now().Add(-time.Minute)
			tokens = cfg.TokenSource(context.WithoutCancel(ctx), token)
			return tokens, nil
		},
	}))(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	session := must.Get(client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.up.URL + "/mcp", OAuthHandler: handler, HTTPClient: &http.Client{Transport: c.held(t)},
	}, nil))(t)
	defer session.Close() //nolint:errcheck // nothing is kept
	token := must.Get(tokens.Token())(t)
	c.token = token.AccessToken
	found(t, session).check(t)
	c.checkSites(t, c.sites(t, session))
}

// versions: the Go client in each version of the protocol, with a token that it
// already has (MCP-10a, MCP-10b, MCP-11).
func (c *clientsTest) versions(t *testing.T) {
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
			session := must.Get(client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint:   c.up.URL + "/mcp",
				HTTPClient: &http.Client{Transport: &oauth2.Transport{Base: c.held(t), Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: c.token})}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version}))(t)
			defer session.Close() //nolint:errcheck // nothing is kept
			equals.Is(t, version, session.InitializeResult().ProtocolVersion, "version")
			o := found(t, session)
			o.check(t)
			c.checkSites(t, c.sites(t, session))
			readAll(t, session, o)
		})
	}
}

// readAll reads every resource and every prompt.
func readAll(t *testing.T, s *mcp.ClientSession, o offer) {
	t.Helper()
	for _, uri := range o.Resources { // RSRC-01, MCP-10e
		resource := must.Get(s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}))(t)
		if len(resource.Contents) != 1 || !json.Valid([]byte(resource.Contents[0].Text)) {
			t.Errorf("%s: %+v", uri, resource)
		}
	}
	for _, name := range o.Prompts { // PROM-02, MCP-10d
		arguments := map[string]string{}
		if name == "analyze-market-price-position" {
			arguments["candidatePrice"] = "19.99"
		}
		prompt := must.Get(s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: arguments}))(t)
		if text, ok := prompt.Messages[0].Content.(*mcp.TextContent); !ok || strings.Count(text.Text, " ") < 50 {
			t.Errorf("%s: %+v", name, prompt.Messages[0])
		}
	}
}

func (c *clientsTest) sites(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	sites, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_sites"})
	if err != nil || sites.IsError {
		t.Fatalf("%+v %v", sites, err)
	}
	return sites.Content[0].(*mcp.TextContent).Text
}

// found reads the lists of a session, all pages of them (MCP-10c, MCP-10d,
// MCP-10e).
func found(t *testing.T, s *mcp.ClientSession) (o offer) {
	t.Helper()
	failed := func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err != nil
	}
	for tool, err := range s.Tools(t.Context(), nil) {
		if failed(err) {
			return o
		}
		o.Tools = append(o.Tools, tool.Name)
	}
	for prompt, err := range s.Prompts(t.Context(), nil) {
		if failed(err) {
			return o
		}
		o.Prompts = append(o.Prompts, prompt.Name)
	}
	for resource, err := range s.Resources(t.Context(), nil) {
		if failed(err) {
			return o
		}
		o.Resources = append(o.Resources, resource.URI)
	}
	for template, err := range s.ResourceTemplates(t.Context(), nil) {
		if failed(err) {
			return o
		}
		o.Templates = append(o.Templates, template.URITemplate)
	}
	return o
}

// callback listens where a native client does: on a port of 127.0.0.1 that
// the system chooses (OAUTH-04).
func callback(t *testing.T) (redirect string, answers <-chan url.Values) {
	t.Helper()
	got := make(chan url.Values, 1)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			got <- r.URL.Query()
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/callback", got
}

// checkPages: the person logs in and is then asked to allow the client, by its
// name (OAUTH-03c).
func checkPages(t *testing.T, pages []string, client string) {
	t.Helper()
	if len(pages) != 2 || !strings.Contains(pages[1], client) || !strings.Contains(pages[1], "Allow") || !strings.Contains(pages[1], "Deny") {
		t.Errorf("pages %q", pages)
	}
}

// typescript: the official TypeScript client in both its release lines, and in
// both eras of the protocol (MCP-11).
func (c *clientsTest) typescript(t *testing.T) {
	for name, line := range map[string]struct {
		sdk, version, negotiated string
		refresh                  bool
	}{
		"v2 modern": {"v2", "2026-07-28", "2026-07-28", true},
		"v2 legacy": {"v2", "legacy", "2025-11-25", true},
		"v1":        {"v1", "legacy", "2025-11-25", true}, // it requests the scopes of the challenge, and no others
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r struct {
				Asked, Answer                        map[string]string
				Pages, Requests                      []string
				Scope, Version                       string
				Server                               struct{ Name, Version string }
				Tools, Prompts, Resources, Templates []string
				Contents                             []string
				Sites, Again                         string
				RefreshToken, Renewed                bool
			}
			c.script(t, "oauth-mcp.mjs", map[string]any{"sdk": line.sdk, "version": line.version, "url": c.up.URL + "/mcp"}, &r)
			if t.Failed() {
				return
			}
			checkPages(t, r.Pages, "TypeScript client "+line.sdk)
			// OAUTH-02, OAUTH-03a, OAUTH-03b: refused, sent to the
			// authorization server, registered.
			way := []string{
				"POST /mcp 401", "GET /.well-known/oauth-protected-resource/mcp 200", "GET /.well-known/oauth-authorization-server 200",
				"POST /oauth/register 201", "POST /oauth/token 200", "POST /mcp 200",
			}
			equals.Checkf(t, way, r.Requests[:min(len(way), len(r.Requests))], "its way")
			// OAUTH-01a, OAUTH-01b
			if r.Asked["code_challenge_method"] != "S256" || r.Asked["resource"] != c.up.URL+"/mcp" || r.Answer["iss"] != c.up.URL {
				t.Errorf("asked %v, answered %v", r.Asked, r.Answer)
			}
			if scopes := strings.Fields(r.Scope); !slices.Contains(scopes, "mcp") || slices.Contains(scopes, "offline_access") != line.refresh {
				t.Errorf("scope %q", r.Scope)
			}
			if r.RefreshToken != line.refresh || r.Renewed != line.refresh || line.refresh && r.Again != r.Sites { // OAUTH-01c
				t.Errorf("refresh token %v, renewed %v, %s then %s", r.RefreshToken, r.Renewed, r.Sites, r.Again)
			}
			if r.Version != line.negotiated || r.Server.Version == "" { // MCP-10a, MCP-10b
				t.Errorf("version %s, server %+v", r.Version, r.Server)
			}
			offer{r.Tools, r.Prompts, r.Resources, r.Templates}.check(t)
			c.checkSites(t, r.Sites)
			c.checkSites(t, r.Contents[0]) // RSRC-01
		})
	}
}
