package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// shop is a server of the contract over rows in memory. Its answers are checked
// against the contract, so that it remains one.
type shop struct {
	t     *testing.T
	rows  []row // ascending by capture time
	sites []string
	// refuse may refuse a read of results: a code, or "" to serve it.
	refuse func(path string, q url.Values) string
	// before may answer a request in place of the shop.
	before func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string // path and query of each request
}

type row struct {
	site string
	at   time.Time
	n    int
}

func (r row) json() string {
	return fmt.Sprintf(`{"itemId":"%d","site":%q,"capturedAt":%q,"availability":"AVAILABLE","price":1.5,"priceMoney":{"value":1.5,"amountMinor":150,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":null}`,
		r.n+1, r.site, r.at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

var began = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// tied returns rows many of which share a capture time, over some sites.
func tied(n int, every time.Duration, sites ...string) (all []row) {
	for i := range n {
		all = append(all, row{sites[i%len(sites)], began.Add(time.Duration(i/37) * every), i})
	}
	return all
}

func (s *shop) serve() *httptest.Server {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return server
}

// client returns a client that does not really wait, and the waits that it
// would have made.
func (s *shop) client(at string) (c *client.Client, waits *[]time.Duration) {
	waits = &[]time.Duration{}
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	c = must.Get(client.New(client.Config{
		URL: at, Token: "t", Transport: openapitest.Transport(transport, func(err error) { s.t.Error(err) }),
		Wait: func(ctx context.Context, d time.Duration) error { *waits = append(*waits, d); return ctx.Err() },
	}))(s.t)
	return c, waits
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path+"?"+r.URL.RawQuery)
	s.mu.Unlock()
	for name, value := range map[string]string{
		"X-Request-Id": "r1", "Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"X-RateLimit-Limit": "600", "X-RateLimit-Remaining": "500", "X-RateLimit-Reset": strconv.FormatInt(time.Now().Unix()+60, 10),
	} {
		w.Header().Set(name, value)
	}
	if s.before != nil && s.before(w, r) {
		return
	}
	q := r.URL.Query()
	switch r.URL.Path {
	case "/v1/sites":
		var data []string
		for _, site := range s.sites {
			data = append(data, fmt.Sprintf(`{"site":%q,"name":"N","siteType":"shop","countryCode":"DE","currencyCode":"EUR","canonicalCountryMarket":false}`, site))
		}
		answer(w, data, 100, "", "{}")
	case "/v1/results/capabilities":
		http.Error(w, "not here", http.StatusNotImplemented)
	case "/v1/results", "/v1/results/stream":
		if s.refuse != nil {
			if code := s.refuse(r.URL.Path, q); code != "" {
				problem(w, code)
				return
			}
		}
		s.results(w, r, q)
	}
}

func problem(w http.ResponseWriter, code string) {
	status := map[string]int{"RESULTS_QUERY_TIMEOUT": 504, "AUTH_TOKEN_INVALID": 401, "RATE_LIMIT_EXCEEDED": 429, "SERVICE_UNAVAILABLE": 503, "INTERNAL_ERROR": 500}[code]
	if status == 0 {
		status = 400
	}
	if status == 401 {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"http://x/problems/p","title":"T","status":%d,"detail":"Because.","code":%q}`, status, code)
}

func answer(w http.ResponseWriter, data []string, limit int, cursor, query string) {
	next := ""
	if cursor != "" {
		next = fmt.Sprintf(`,"nextCursor":%q`, cursor)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"data":[%s],"paging":{"limit":%d,"returned":%d%s},"query":%s}`, strings.Join(data, ","), limit, len(data), next, query)
}

// matching returns the rows of a query, in its order.
func (s *shop) matching(q url.Values) (all []row) {
	bound := func(name string, none time.Time) time.Time {
		if t, err := time.Parse(time.RFC3339, q.Get(name)); err == nil {
			return t
		}
		return none
	}
	from, to := bound("capturedFrom", began), bound("capturedTo", began.AddDate(1, 0, 0))
	for _, r := range s.rows {
		if (q.Get("site") == "" || q.Get("site") == r.site) && !r.at.Before(from) && !r.at.After(to) {
			all = append(all, r)
		}
	}
	if q.Get("sort") != "asc" {
		slices.Reverse(all)
	}
	return all
}

func (s *shop) results(w http.ResponseWriter, r *http.Request, q url.Values) {
	limit, _ := strconv.Atoi(q.Get("limit"))
	bare := url.Values{}
	for name, values := range q {
		if name != "limit" && name != "cursor" {
			bare[name] = values
		}
	}
	if q.Has("globalScope") && q.Has("site") { // RES-04b
		problem(w, "MVP_VALIDATION_ERROR")
		return
	}
	all, at := s.matching(q), 0
	if cursor := q.Get("cursor"); cursor != "" { // the position, and the query that it belongs to
		place, question, _ := strings.Cut(cursor, "~")
		if at, _ = strconv.Atoi(place); question != bare.Encode() {
			problem(w, "MVP_VALIDATION_ERROR")
			return
		}
	}
	if r.URL.Path == "/v1/results" {
		end, next := min(at+limit, len(all)), ""
		if end < len(all) {
			next = fmt.Sprintf("%d~%s", end, bare.Encode())
		}
		var data []string
		for _, r := range all[at:end] {
			data = append(data, r.json())
		}
		answer(w, data, limit, next, `{"scope":"scoped","capturedFrom":null,"capturedTo":null,"timezone":"UTC","sort":"desc","latestPerPair":false,"latestObservationPerPair":false}`)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Results-Scope", "scoped")
	w.Header().Set("Trailer", "X-Results-Complete, X-Results-Returned")
	for _, r := range all[at:] {
		fmt.Fprintln(w, r.json())
	}
	w.Header().Set("X-Results-Complete", "true")
	w.Header().Set("X-Results-Returned", strconv.Itoa(len(all)-at))
}

// read collects the rows of a read by their items.
func read(t *testing.T, c *client.Client, r client.Results) (items []int, err error) {
	t.Helper()
	r.Row = func(line []byte) error {
		var record struct{ ItemID string }
		equals.NoError(t, json.Unmarshal(line, &record), "%q", line)
		n, _ := strconv.Atoi(record.ItemID)
		items = append(items, n)
		return nil
	}
	err = c.Results(t.Context(), r)
	return items, err
}

// want returns the items of a query, in its order.
func (s *shop) want(q url.Values) (items []int) {
	for _, r := range s.matching(q) {
		items = append(items, r.n+1)
	}
	return items
}
