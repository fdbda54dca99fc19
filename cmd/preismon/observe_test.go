package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// collector receives traces as a collector does, and keeps their spans.
type collector struct {
	URL   string
	mu    sync.Mutex
	spans []sentSpan
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// all returns the number of spans.
func (c *collector) all() int { return len(c.find(func(sentSpan) bool { return true })) }

type sentSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
	Attributes   []struct {
		Key   string `json:"key"`
		Value struct {
			String string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
	Links []struct {
		SpanID string `json:"spanId"`
	} `json:"links"`
}

func (s sentSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String
		}
	}
	return ""
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []sentSpan `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	text, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/v1/traces" || json.Unmarshal(text, &body) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range body.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// find returns the spans that want accepts.
func (c *collector) find(want func(sentSpan) bool) (found []sentSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if want(s) {
			found = append(found, s)
		}
	}
	return found
}

// observed: one process that does everything exposes exactly the metrics that
// deploy/metrics.md documents, keeps what is for operators off the public port,
// and its traces lead from a publisher to ClickHouse, and from a request to
// ClickHouse.
func (d *demoTest) observed(t *testing.T) {
	u, c, a := d.up, d.traces, d.client(t, "anna")
	if status, body := a.get("/v1/results", url.Values{"limit": {"3"}}); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if _, _, err := a.stream("/v1/results/stream", nil, func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	a.get("/v1/orders/1234567", nil)

	t.Run("metrics", func(t *testing.T) {
		equals.Checkf(t, documentedMetrics(t), exposedMetrics(t, u.AdminURL), "deploy/metrics.md and /metrics differ (- only in the document)")
	})
	t.Run("ports", func(t *testing.T) {
		for path, onAdmin := range map[string]int{
			"/metrics": 200, "/livez": 200, "/readyz": 200, "/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/cmdline": 404, "/debug/vars": 404,
			"/v1/sites": 404, "/healthz": 404,
		} {
			for base, want := range map[string]int{u.AdminURL: onAdmin, u.URL: http.StatusNotFound} {
				if base == u.URL && strings.HasPrefix(path, "/v1") || base == u.URL && path == "/healthz" {
					continue
				}
				if resp := must.Get(caller.Read(http.Get(base + path)))(t); resp.StatusCode != want {
					t.Errorf("%s%s: %d, want %d", base, path, resp.StatusCode, want)
				}
			}
		}
	})
	t.Run("publisher to ClickHouse", func(t *testing.T) {
		must.Eventually(t, time.Minute, "an insert is in the trace of a batch that is linked to a publisher", func() bool {
			published := map[string]bool{}
			for _, s := range c.find(func(s sentSpan) bool { return s.Name == "publish OBSERVATIONS" }) {
				published[s.SpanID] = true
			}
			for _, batch := range c.find(func(s sentSpan) bool {
				return s.Name == "process OBSERVATIONS" && len(s.Links) > 0 && published[s.Links[0].SpanID]
			}) {
				if len(c.find(func(s sentSpan) bool {
					return s.ParentSpanID == batch.SpanID && s.TraceID == batch.TraceID && s.Name == "clickhouse observations" && strings.HasPrefix(s.attribute("clickhouse.query_id"), "p0-")
				})) > 0 {
					return true
				}
			}
			return false
		})
	})
	t.Run("request to ClickHouse", func(t *testing.T) {
		must.Eventually(t, time.Minute, "a statement is in the trace of its request", func() bool {
			req := must.Get(a.at().Request(t.Context(), http.MethodGet, "/v1/results?limit=1", nil))(t)
			req.Header.Set("X-Request-Id", "traced-1")
			must.Get(caller.Read(http.DefaultClient.Do(req)))(t)
			for _, request := range c.find(func(s sentSpan) bool {
				return s.Name == "GET /v1/results" && s.attribute("preismon.request_id") == "traced-1"
			}) {
				if len(c.find(func(s sentSpan) bool {
					return s.ParentSpanID == request.SpanID && s.Name == "clickhouse results" && strings.HasPrefix(s.attribute("clickhouse.query_id"), "q-traced-1-")
				})) > 0 {
					return true
				}
			}
			return false
		})
	})
}

var metricRow = regexp.MustCompile("^\\| `(preismon_[a-z_]+)` \\| ([a-z]+)((?:, by)?(?:,? `[a-z]+`)*) \\|")

// documentedMetrics reads the tables of deploy/metrics.md: kind and labels by
// name.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("../../deploy/metrics.md"))(t)
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if row := metricRow.FindStringSubmatch(line); row != nil {
			labels := regexp.MustCompile("[a-z]+").FindAllString(strings.TrimPrefix(row[3], ", by"), -1)
			slices.Sort(labels)
			all[row[1]] = row[2] + " " + strings.Join(labels, ",")
		}
	}
	return all
}

// exposedMetrics reads those of a process.
func exposedMetrics(t *testing.T, admin string) map[string]string {
	t.Helper()
	text := must.Get(caller.Read(http.Get(admin + "/metrics")))(t).Text
	all := map[string]string{}
	name, kind := "", ""
	sample := regexp.MustCompile(`^([a-z_]+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? `)
	label := regexp.MustCompile(`([a-z]+)="`)
	for line := range strings.Lines(string(text)) {
		if typed, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ = strings.Cut(strings.TrimSpace(typed), " ")
			continue
		}
		found := sample.FindStringSubmatch(line)
		if found == nil || !strings.HasPrefix(name, "preismon_") || strings.HasPrefix(line, "#") {
			continue
		}
		labels := map[string]bool{}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			if l[1] != "le" {
				labels[l[1]] = true
			}
		}
		all[name] = kind + " " + strings.Join(slices.Sorted(maps.Keys(labels)), ",")
	}
	return all
}

// requestIDInAllLogs: the id of a request that fails in the store is in every
// log line that it causes, and in ClickHouse.
func requestIDInAllLogs(t *testing.T, r *role, ch *testserver.ClickHouseServer) {
	t.Helper()
	must.Get(database(t, ch.AdminDSN).ExecContext(t.Context(), "DROP TABLE accounts"))(t)
	before := len(r.Written())
	req := must.Get(http.NewRequest(http.MethodPost, r.URL()+"/v1/auth/token", bytes.NewReader(caller.LoginBody("a@example.com", "secret-password"))))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "failing-1")
	resp := must.Get(caller.Read(http.DefaultClient.Do(req)))(t)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("X-Request-Id") != "failing-1" {
		t.Errorf("status %d, id %q", resp.StatusCode, resp.Header.Get("X-Request-Id"))
	}
	must.Eventually(t, 10*time.Second, "the access log has the request", func() bool { return strings.Contains(r.Written()[before:], `"msg":"request"`) })
	lines := 0
	for line := range strings.Lines(r.Written()[before:]) {
		lines++
		if !strings.Contains(line, `"request_id":"failing-1"`) {
			t.Errorf("a line without the id: %s", line)
		}
		if strings.Contains(line, "secret-password") {
			t.Errorf("a line with the password: %s", line)
		}
		if strings.Contains(line, `"msg":"request failed"`) && !strings.Contains(line, "query id q-failing-1-") {
			t.Errorf("the failure does not name the statement: %s", line)
		}
	}
	if lines != 2 {
		t.Errorf("%d lines:\n%s", lines, r.Written()[before:])
	}
}
