package load_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	tool     = "tool"
	login    = "login"
)

var kinds = []string{sites, page, latest, stream, history, download, sums, moved, tool, login}

// client is an account that sends requests of any kind.
type client struct {
	estate  *estate
	account market.DemoAccount
	http    *http.Client
	base    func() string // of the node or balancer that it uses

	mu      sync.Mutex
	token   string
	agent   string            // its token for MCP
	file    string            // path of a download
	orderID string            // of the file
	truth   map[string]string // digest of the whole answer by kind, without faults
	rows    map[string][]byte // of pages, by kind
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
		estate: e, account: e.account(account), base: base, truth: map[string]string{}, rows: map[string][]byte{},
		http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 300}},
	}
	e.t.Cleanup(c.http.CloseIdleConnections)
	issued, err := e.issuer.Issue(auth.Grant{
		Account: e.ids[c.account.LoginIdentifier], Audience: baseURL + "/mcp", Lifetime: 4 * time.Hour, Scopes: []string{"mcp"},
	})
	must(e.t, err)
	c.agent = issued.Token.Reveal()
	return c
}

// learn logs in and records the answer to every kind of request without faults.
func (c *client) learn(t testing.TB) {
	t.Helper()
	if r := c.send(t.Context(), login); r.status != http.StatusOK {
		t.Fatalf("log in: %+v", r)
	}
	c.findFile(t)
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
	must(t, c.json(t.Context(), "/v1/orders", &orders))
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

func (c *client) there(t testing.TB, path string) bool {
	t.Helper()
	resp, err := c.do(t.Context(), http.MethodGet, path, "", nil)
	must(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func (c *client) json(ctx context.Context, path string, into any) error {
	resp, err := c.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, resp.Status, body)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (c *client) do(ctx context.Context, method, path, token string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if token == "" {
		token = c.token
	}
	c.mu.Unlock()
	if path != loginPath {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	return c.http.Do(req)
}

const loginPath = "/v1/auth/token"

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
	case tool:
		method, path, token = http.MethodPost, "/mcp", c.agent
		body = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sites","arguments":{}}}`)
	case login:
		method, path = http.MethodPost, loginPath
		body, _ = json.Marshal(map[string]string{"loginIdentifier": c.account.LoginIdentifier, "password": c.account.Password})
	}
	r := reply{kind: kind, retry: -1}
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	resp, err := c.do(ctx, method, path, token, body)
	if err != nil {
		r.broke = err
		return r
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.broke = err
		return r
	}
	r.took = time.Since(began)
	r.status = resp.StatusCode
	if given := resp.Header.Get("Retry-After"); given != "" {
		if r.retry, err = strconv.Atoi(given); err != nil {
			r.wrong = fmt.Errorf("Retry-After: %q", given)
		}
	}
	if r.status != http.StatusOK {
		var problem struct{ Code string }
		if json.Unmarshal(text, &problem) != nil || problem.Code == "" && kind != tool {
			r.wrong = fmt.Errorf("status %d without a problem: %.200q", r.status, text)
		}
		r.code = problem.Code
		return r
	}
	c.judge(&r, resp, text)
	return r
}

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
	if c.truth[r.kind] != digest || len(content) < 3 {
		r.wrong = fmt.Errorf("a 200 of %s that is not the truth: %s, want %s", r.kind, digest, c.truth[r.kind])
	}
}
