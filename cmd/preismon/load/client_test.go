package load_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
	"preismon/query/auth"
)

// The kinds of requests.
const (
	sites    = "sites"
	page     = "page"
	latest   = "latest"
	stream   = "stream"
	history  = "history"
	download = "download"
	sums     = "sums"
	moved    = "moved"
	changes  = "changes"
	alerts   = "alerts"
	windows  = "windows"
	position = "position"
	lookup   = "lookup"
	evidence = "evidence"
	explain  = "explain"
	tool     = "tool"
	login    = "login"
	follow   = "follow" // a tail, see tails_test.go
)

// kinds are those of a client; tails run beside them.
var kinds = []string{
	sites, page, latest, stream, history, download, sums, moved, changes, alerts, windows, position, lookup, evidence, explain, tool, login,
}

// but returns all kinds, except one.
func but(kind string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k == kind })
}

// client is an account that sends requests of any kind.
type client struct {
	estate  *estate
	account market.DemoAccount
	http    *http.Client
	base    func() string // of the node or balancer that it uses

	mu       sync.Mutex
	token    string
	agent    string            // its token for MCP
	file     string            // path of a download
	orderID  string            // of the file
	feed     feed              // begun before its last rows were published
	products []string          // of its newest rows
	items    []byte            // body of a lookup with these
	row      url.Values        // whose evidence it reads
	truth    map[string]string // digest of the whole answer by kind, without faults
	rows     map[string][]byte // of pages, by kind
}

// reply is the outcome of a request. A 2xx that is not the whole truth is
// wrong.
type reply struct {
	kind   string
	status int // 0: no answer, or one that was cut off
	code   string
	retry  int // seconds; -1: not given
	took   time.Duration
	early  bool // a page that ended at its soft deadline, with a cursor for the rest
	wrong  error
	broke  error
}

func (r reply) String() string {
	return fmt.Sprintf("%s: %d %s after %v, wrong: %v, broken: %v", r.kind, r.status, r.code, r.took, r.wrong, r.broke)
}

func (e *estate) client(account string, base func() string) *client {
	e.t.Helper()
	c := &client{
		estate: e, account: e.account(account), base: base, feed: e.feeds[e.account(account).LoginIdentifier], truth: map[string]string{}, rows: map[string][]byte{},
		http: &http.Client{Timeout: 3 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 300}},
	}
	e.t.Cleanup(c.http.CloseIdleConnections)
	c.agent = e.token(c.account, auth.Grant{Audience: baseURL + "/mcp", Lifetime: 4 * time.Hour, Scopes: []string{"mcp"}})
	return c
}

// token issues an access token of an account.
func (e *estate) token(a market.DemoAccount, g auth.Grant) string {
	e.t.Helper()
	g.Account = e.ids[a.LoginIdentifier]
	issued := must.Get(e.issuer.Issue(g))(e.t)
	return issued.Token.Reveal()
}

// learn logs in and records the answer to every kind of request without faults.
func (c *client) learn(t testing.TB) {
	t.Helper()
	c.logIn(t)
	c.findFile(t)
	c.findRows(t)
	for _, kind := range kinds {
		if !c.may(kind) {
			continue
		}
		if r := c.send(t.Context(), kind); r.status != http.StatusOK || r.wrong != nil {
			t.Fatalf("without a fault: %v", r)
		}
	}
}

// may reports whether the account has what a kind of request needs.
func (c *client) may(kind string) bool { return c.file != "" || kind != download && kind != history }

// findFile finds the largest archived file that it may download.
func (c *client) findFile(t testing.TB) {
	t.Helper()
	var orders struct{ Data []struct{ OrderID string } }
	must.Do(t, c.json(t.Context(), "/v1/orders", &orders))
	largest := int64(0)
	for _, o := range orders.Data {
		var files struct {
			Data []struct {
				Name, ExportName string
				SizeBytes        int64
				ArchivedAt       time.Time
			}
		}
		if err := c.json(t.Context(), "/v1/orders/"+o.OrderID+"/exports/history?limit=1000", &files); err != nil {
			continue // without the permission
		}
		for _, f := range files.Data {
			when := f.ArchivedAt.Format(time.RFC3339Nano)
			path := "/v1/orders/" + o.OrderID + "/exports/history/download?" + url.Values{"name": {f.Name}, "exportName": {f.ExportName}, "dateFrom": {when}, "dateTo": {when}}.Encode()
			if f.SizeBytes > largest && c.there(t, path) {
				c.file, c.orderID, largest = path, o.OrderID, f.SizeBytes
			}
		}
	}
	if largest > 0 {
		t.Logf("%s downloads a file of %d bytes", c.account.LoginIdentifier, largest)
	}
}

// findRows finds products to look up, and a row to read the evidence of.
func (c *client) findRows(t testing.TB) {
	t.Helper()
	var newest struct {
		Data []struct{ ItemID, Site, CapturedAt string }
	}
	must.Do(t, c.json(t.Context(), "/v1/results?limit=100&"+c.window(), &newest))
	var ids []string
	for _, r := range newest.Data {
		ids = append(ids, r.ItemID)
		c.row = url.Values{"itemId": {r.ItemID}, "site": {r.Site}, "capturedAt": {r.CapturedAt}}
	}
	slices.Sort(ids)
	c.products = slices.Compact(ids)
	c.items = must.Get(json.Marshal(map[string]any{"itemIds": c.products}))(t)
}

func (c *client) there(t testing.TB, path string) bool {
	t.Helper()
	a, err := c.at("").Get(t.Context(), path)
	if a.Response == nil {
		t.Fatal(err)
	}
	return err == nil && a.StatusCode == http.StatusOK
}

func (c *client) json(ctx context.Context, path string, into any) error {
	a, err := c.at("").Get(ctx, path)
	if err != nil {
		return err
	}
	return a.JSON(into)
}

// at is the account at its node, with its own token unless it is given one.
func (c *client) at(token string) caller.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return caller.Client{HTTP: c.http, URL: c.base(), Token: cmp.Or(token, c.token)}
}

// window is the whole period of the estate.
func (c *client) window() string {
	return "globalScope=true&capturedFrom=" + c.estate.from.Format(time.RFC3339) + "&capturedTo=" + c.estate.to.Format(time.RFC3339)
}

func (c *client) streamPath() string {
	return "/v1/results/stream?includeExportFields=true&" + c.window()
}

// send sends a request of a kind and judges its answer.
func (c *client) send(ctx context.Context, kind string) reply {
	method, path, token, body := http.MethodGet, "", "", []byte(nil)
	switch kind {
	case sites:
		path = "/v1/sites"
	case page:
		path = "/v1/results?limit=200&" + c.window()
	case latest:
		path = "/v1/results?limit=200&latestObservationPerPair=true"
	case stream:
		path = c.streamPath()
	case history:
		path = "/v1/orders/" + c.orderID + "/exports/history?limit=50"
	case download:
		path = c.file
	case sums:
		path = "/ext/v1/statistics?by=site&bucket=day&" + c.window()
	case moved:
		path = "/ext/v1/movers?limit=200&since=" + c.estate.from.Add(time.Hour).Format(time.RFC3339) + "&until=" + c.estate.to.Format(time.RFC3339)
	case changes:
		path = "/ext/v1/changes?limit=200&since=" + c.feed.changes
	case alerts:
		path = "/ext/v1/alerts?limit=1000&since=" + c.feed.alerts
	case windows:
		path = "/ext/v1/windows?bucket=hour&" + strings.TrimPrefix(c.window(), "globalScope=true&")
	case position:
		path = "/ext/v1/position?limit=200"
	case lookup:
		method, path, body = http.MethodPost, "/ext/v1/lookup", c.items
	case evidence:
		path = "/ext/v1/evidence?" + c.row.Encode()
	case explain:
		path = "/ext/v1/explain?path=/v1/results&limit=200&" + c.window()
	case tool:
		method, path, token = http.MethodPost, "/mcp", c.agent
		body = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sites","arguments":{}}}`)
	case login:
		method, path, body = http.MethodPost, caller.LoginPath, caller.LoginBody(c.account.LoginIdentifier, c.account.Password)
	}
	r := reply{kind: kind, retry: -1}
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	to := c.at(token)
	if kind == login {
		to.Token = ""
	}
	a, err := caller.Read(to.Send(ctx, method, path, body))
	if err != nil {
		r.broke = err
		return r
	}
	r.took = time.Since(began)
	r.began(a.Response)
	if r.status != http.StatusOK {
		r.refused(a.Text)
		return r
	}
	c.judge(&r, a.Response, a.Text)
	return r
}

// began takes over the status of an answer.
func (r *reply) began(resp *http.Response) {
	r.status = resp.StatusCode
	if given := resp.Header.Get("Retry-After"); given != "" {
		var err error
		if r.retry, err = strconv.Atoi(given); err != nil {
			r.wrong = fmt.Errorf("Retry-After: %q", given)
		}
	}
}

// refused takes over the code of a problem.
func (r *reply) refused(text []byte) {
	var problem struct{ Code string }
	if json.Unmarshal(text, &problem) != nil || problem.Code == "" && r.kind != tool {
		r.wrong = fmt.Errorf("status %d without a problem: %.200q", r.status, text)
	}
	r.code = problem.Code
}

// varies matches what differs between equal answers: sealed cursors, whether
// rows may still come to a window, and how much the tables' parts, which are
// being merged, make a read scan.
var varies = regexp.MustCompile(`cursor=[\w-]+|"state":"(open|closed)"|"scannedAtMost":\d+`)

// judge compares an answer with the truth; the first one of a kind is the
// truth.
func (c *client) judge(r *reply, resp *http.Response, text []byte) {
	content := text
	var object struct {
		Data        json.RawMessage
		Paging      struct{ NextCursor string }
		AccessToken string
		Result      struct {
			IsError           bool
			StructuredContent struct {
				Data json.RawMessage
				Code string
			}
		}
	}
	if r.kind != stream && r.kind != download {
		if err := json.Unmarshal(text, &object); err != nil {
			r.wrong = fmt.Errorf("a 200 that is no JSON: %.200q", text)
			return
		}
		content = object.Data
	}
	if r.kind == explain {
		content = text
	}
	switch r.kind {
	case login:
		c.mu.Lock()
		c.token = object.AccessToken
		c.mu.Unlock()
		if strings.Count(object.AccessToken, ".") != 2 {
			r.wrong = fmt.Errorf("a login without a token")
		}
		return
	case stream:
		if n := strconv.Itoa(bytes.Count(text, []byte("\n"))); resp.Trailer.Get("X-Results-Complete") != "true" || resp.Trailer.Get("X-Results-Returned") != n {
			r.wrong = fmt.Errorf("a stream of %s lines that ends without an error and does not say it is complete: %v", n, resp.Trailer)
			return
		}
	case tool:
		if object.Result.IsError { // the status of a tool call is in its answer
			r.code, r.status = object.Result.StructuredContent.Code, http.StatusServiceUnavailable
			if r.code != "SERVICE_UNAVAILABLE" {
				r.status = http.StatusGatewayTimeout
			}
			r.retry = 1
			return
		}
		content = object.Result.StructuredContent.Data
	}
	if r.kind == evidence || r.kind == windows || r.kind == explain {
		content = varies.ReplaceAll(content, nil)
	}
	digest := fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.truth[r.kind] == "" {
		c.truth[r.kind] = digest
		if r.kind == page || r.kind == latest {
			c.rows[r.kind] = content
		}
	}
	// An overloaded service ends a page early and reports it.
	if c.truth[r.kind] != digest && object.Paging.NextCursor != "" && len(content) < len(c.rows[r.kind]) &&
		bytes.HasPrefix(c.rows[r.kind], bytes.TrimSuffix(content, []byte("]"))) {
		r.early = true
		return
	}
	// A small customer may have no alert, and no price of its own.
	if c.truth[r.kind] != digest || len(content) < 3 && r.kind != alerts && r.kind != position {
		r.wrong = fmt.Errorf("a 200 of %s that is not the truth: %s, want %s", r.kind, digest, c.truth[r.kind])
	}
}
