package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// conformance: the suite of the protocol's authors, in each era (MCP-11).
func (c *clientsTest) conformance(t *testing.T) {
	proxy := c.proxy(t)
	for version, choice := range map[string][]string{
		"2026-07-28": {"--requirements", "2026-07-28"},
		"2025-11-25": {"--requirements", "2025-11-25"},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tools.Conformance{
				Of: "server", Args: append([]string{"--url", proxy + "/mcp"}, choice...), List: "testdata/conformance/" + version + ".txt",
			}.Run(t)
		})
	}
}

// proxy adds the token, for which the suite has no option. To the service, the
// pages of the proxy have the service's own origin.
func (c *clientsTest) proxy(t *testing.T) string {
	t.Helper()
	to := must.Get(url.Parse(c.up.URL))(t)
	server := httptest.NewServer(&httputil.ReverseProxy{Transport: c.held(t), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		// Read the body before forwarding: an answer closes what is left of it.
		if r.Out.Body != nil {
			body, _ := io.ReadAll(r.In.Body)
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		r.Out.Header.Set("Authorization", "Bearer "+c.token)
		if r.Out.Host = r.In.Host; r.In.Header.Get("Origin") == "http://"+r.In.Host {
			r.Out.Header.Set("Origin", c.up.URL)
		}
	}})
	t.Cleanup(server.Close)
	return server.URL
}

// authorizationServer: what the suite requires of the authorization server.
func (c *clientsTest) authorizationServer(t *testing.T) {
	callback := freeAddress(t) // the suite listens there
	_, port, _ := net.SplitHostPort(callback)
	var person sync.WaitGroup
	tools.Conformance{
		Of: "authorization", List: "testdata/conformance/authorization.txt",
		Args: []string{"--url", c.up.URL, "--client-id", c.register(t), "--resource", c.up.URL + "/mcp", "--port", port},
		Output: &lines{each: func(line string) {
			if strings.HasPrefix(line, c.up.URL+"/oauth/authorize?") {
				person.Go(func() {
					c.script(t, "person-main.mjs", map[string]any{"url": line, "redirect": "http://" + callback + "/callback"}, new(walked))
				})
			}
		}},
	}.Run(t)
	person.Wait()
}

// register registers a client by hand, because the suite does not.
func (c *clientsTest) register(t *testing.T) (id string) {
	t.Helper()
	body := `{"client_name":"conformance","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none"}`
	a := must.Get(caller.Client{HTTP: http.DefaultClient, URL: c.up.URL}.Post(t.Context(), "/oauth/register", []byte(body)))(t)
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal(a.Text, &client); err != nil || a.StatusCode != http.StatusCreated {
		t.Fatalf("register: %d %v", a.StatusCode, err)
	}
	return client.ID
}

// lines is a writer that passes on complete lines.
type lines struct {
	mu   sync.Mutex
	rest []byte
	each func(string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		l.rest = rest
		l.each(string(line))
	}
}
