package shards_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/query/auth"
)

// client is an account, as the nodes of all forms see it.
type client struct {
	t            testing.TB
	name         string
	token, agent string
}

var web = &http.Client{Timeout: 2 * time.Minute}

func (e *estate) client(t testing.TB, name string) *client {
	t.Helper()
	demo, record := e.account(name)
	return e.login(t, name, record, demo.Password)
}

func (e *estate) login(t testing.TB, name string, record *contracts.Account, password string) *client {
	t.Helper()
	c := &client{t: t, name: name}
	issued := must.Get(e.issuer.Issue(auth.Grant{Account: record.AccountID, Audience: baseURL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}}))(t)
	c.agent = issued.Token.Reveal()
	body, _ := json.Marshal(map[string]string{"loginIdentifier": record.LoginIdentifier, "password": password})
	resp, text := c.ask(e.forms[1].nodes[0], http.MethodPost, "/v1/auth/token", "", body)
	var given struct{ AccessToken string }
	if resp.StatusCode != http.StatusOK || json.Unmarshal(text, &given) != nil {
		t.Fatalf("log in as %s: %s %s", name, resp.Status, text)
	}
	c.token = given.AccessToken
	return c
}

// send sends a request, with preferences; the caller must read and close its
// answer.
func (c *client) send(node *process.Role, method, path, token string, body []byte, prefer ...string) (*http.Response, error) {
	req := must.Get(http.NewRequestWithContext(context.Background(), method, node.URL()+path, bytes.NewReader(body)))(c.t)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header["Prefer"] = prefer
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	return web.Do(req)
}

func (c *client) ask(node *process.Role, method, path, token string, body []byte, prefer ...string) (*http.Response, []byte) {
	c.t.Helper()
	resp := must.Get(c.send(node, method, path, token, body, prefer...))(c.t)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text := must.Get(io.ReadAll(resp.Body))(c.t)
	return resp, text
}

func (c *client) get(node *process.Role, path string) (*http.Response, []byte) {
	c.t.Helper()
	return c.ask(node, http.MethodGet, path, c.token, nil)
}

// walk returns the records of all pages, each read from the next node.
func (c *client) walk(nodes []*process.Role, path string) (records []string) {
	c.t.Helper()
	cursor := ""
	for page := 0; ; page++ {
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		resp, text := c.get(nodes[page%len(nodes)], at)
		var answer struct {
			Data   []json.RawMessage
			Paging struct{ NextCursor string }
		}
		if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK {
			c.t.Fatalf("%s: %s: page %d of %d nodes: %s %v %.300s", c.name, path, page, len(nodes), resp.Status, err, text)
		}
		for _, r := range answer.Data {
			records = append(records, string(r))
		}
		if cursor = answer.Paging.NextCursor; cursor == "" {
			return records
		}
	}
}

// stream returns the lines of a complete stream.
func (c *client) stream(nodes []*process.Role, path string) []string {
	c.t.Helper()
	resp, text := c.get(nodes[0], path)
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[:len(lines)-1]
	if !complete(resp, len(lines)) {
		c.t.Fatalf("%s: %s: %s, %d lines, trailer %v: %.300s", c.name, path, resp.Status, len(lines), resp.Trailer, text)
	}
	return lines
}

// snapshot returns the lines of a complete stream, and a token for what comes
// after it; no token: it must come back, because a grant is being filled in.
func (c *client) snapshot(node *process.Role, path string) (lines []string, token string) {
	c.t.Helper()
	resp, text := c.ask(node, http.MethodGet, path, c.token, nil, "changes-token")
	if resp.StatusCode == http.StatusServiceUnavailable {
		return nil, ""
	}
	lines = slices.Collect(strings.Lines(string(text)))
	if token = resp.Trailer.Get("X-Changes-Token"); !complete(resp, len(lines)) || token == "" {
		c.t.Fatalf("%s: %s: %s, %d lines, trailer %v: %.300s", c.name, path, resp.Status, len(lines), resp.Trailer, text)
	}
	return lines, token
}

// complete reports whether an answer that was read to its end states that it is
// complete.
func complete(resp *http.Response, lines int) bool {
	return resp.StatusCode == http.StatusOK && resp.Trailer.Get("X-Results-Complete") == "true" && resp.Trailer.Get("X-Results-Returned") == strconv.Itoa(lines)
}

// ofItsMoment matches what differs in any two answers: a cursor, and the times
// in a link to the explorer for a window that ends now.
var ofItsMoment = regexp.MustCompile(`"nextCursor":"[^"]*"|\b(from|to)=[^&"]*`)

// tool calls a tool, with its arguments as JSON, and returns the data of its
// answer.
func (c *client) tool(nodes []*process.Role, call string) []string {
	c.t.Helper()
	name, arguments, _ := strings.Cut(call, " ")
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	resp, text := c.ask(nodes[len(nodes)-1], http.MethodPost, "/mcp", c.agent, []byte(body))
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK || answer.Result.IsError || answer.Result.StructuredContent == nil {
		c.t.Fatalf("%s: %s: %s %v %.500s", c.name, call, resp.Status, err, text)
	}
	var all []string
	for _, part := range slices.Sorted(maps.Keys(answer.Result.StructuredContent)) {
		if part != "paging" && part != "query" { // they have cursors, and times of the query
			all = append(all, part+" "+ofItsMoment.ReplaceAllString(string(answer.Result.StructuredContent[part]), ""))
		}
	}
	return all
}
