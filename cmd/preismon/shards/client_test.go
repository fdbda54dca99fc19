package shards_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/caller"
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
	c.token = must.Get(c.at(e.forms[1].nodes[0], "").Login(context.Background(), record.LoginIdentifier, password))(t).Token
	return c
}

// at is the account at a node, with one of its tokens.
func (c *client) at(node *process.Role, token string) caller.Client {
	return caller.Client{HTTP: web, URL: node.URL(), Token: token}
}

func (c *client) get(node *process.Role, path string, prefer ...string) (*http.Response, []byte) {
	c.t.Helper()
	a := must.Get(c.at(node, c.token).Get(context.Background(), path, prefer...))(c.t)
	return a.Response, a.Text
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
	if !caller.Complete(resp, len(lines)) {
		c.t.Fatalf("%s: %s: %s, %d lines, trailer %v: %.300s", c.name, path, resp.Status, len(lines), resp.Trailer, text)
	}
	return lines
}

// snapshot returns the lines of a complete stream, and a token for what comes
// after it; no token: it must come back, because a grant is being filled in.
func (c *client) snapshot(node *process.Role, path string) (lines []string, token string) {
	c.t.Helper()
	resp, text := c.get(node, path, "changes-token")
	if resp.StatusCode == http.StatusServiceUnavailable {
		return nil, ""
	}
	lines = slices.Collect(strings.Lines(string(text)))
	if token = resp.Trailer.Get("X-Changes-Token"); !caller.Complete(resp, len(lines)) || token == "" {
		c.t.Fatalf("%s: %s: %s, %d lines, trailer %v: %.300s", c.name, path, resp.Status, len(lines), resp.Trailer, text)
	}
	return lines, token
}

// ofItsMoment matches what differs in any two answers: a cursor, and the times
// in a link to the explorer for a window that ends now.
var ofItsMoment = regexp.MustCompile(`"nextCursor":"[^"]*"|\b(from|to)=[^&"]*`)

// tool calls a tool, with its arguments as JSON, and returns the data of its
// answer.
func (c *client) tool(nodes []*process.Role, call string) []string {
	c.t.Helper()
	name, arguments, _ := strings.Cut(call, " ")
	a := must.Get(c.at(nodes[len(nodes)-1], c.agent).CallTool(context.Background(), name, arguments))(c.t)
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent map[string]json.RawMessage
		}
	}
	if err := a.JSON(&answer); err != nil || answer.Result.IsError || answer.Result.StructuredContent == nil {
		c.t.Fatalf("%s: %s: %s %v %.500s", c.name, call, a.Status, err, a.Text)
	}
	var all []string
	for _, part := range slices.Sorted(maps.Keys(answer.Result.StructuredContent)) {
		if part != "paging" && part != "query" { // they have cursors, and times of the query
			all = append(all, part+" "+ofItsMoment.ReplaceAllString(string(answer.Result.StructuredContent[part]), ""))
		}
	}
	return all
}
