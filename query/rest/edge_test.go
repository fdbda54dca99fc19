package rest_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/rest"
)

func TestSecurityHeaders(t *testing.T) { // HDR-01, HDR-02a to HDR-02e
	s := serve(t)
	s.store.broken = func(m string) error {
		if m == "Items" {
			panic("at the disco")
		}
		return nil
	}
	server := s.request("OPTIONS", "/", "", nil)
	server.URL.Path, server.URL.Opaque = "", "*" // about the server as a whole, which net/http answers by itself if it may
	seen := map[string]bool{}
	for _, a := range []answer{
		s.get("/healthz", ""), s.get("/v1/sites", s.token(reader)), s.get("/v1/results/stream", s.token(reader)), s.get("/v1/results", s.token(reader)),
		s.get("/v1/sites", ""), s.get("/v1/sites?x=y", s.token(reader)), s.get("/v1/results", s.token(narrow)), s.get("/nothing", ""),
		s.do(s.request("DELETE", "/v1/sites", "", nil)), s.get("/v1/items", s.token(reader)), s.get("/problems/not-found", ""),
		s.login("reader@example.com", password), s.login("reader@example.com", "x"), s.do(server),
	} {
		what := a.Request.Method + " " + a.Request.URL.Path + " " + a.Status
		id := a.Header.Get("X-Request-Id")
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) || seen[id] {
			t.Errorf("%s: X-Request-Id %q", what, id)
		}
		seen[id] = true
		policy := "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
		if strings.HasPrefix(a.Request.URL.Path, "/problems/") {
			policy += "; style-src 'self'"
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy,
			"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		} {
			if got := a.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s %q", what, name, got)
			}
		}
		if want := "no-store"; a.Header.Get("Cache-Control") != want && !strings.HasPrefix(a.Request.URL.Path, "/problems/") {
			t.Errorf("%s: Cache-Control %q", what, a.Header.Get("Cache-Control"))
		}
	}
	equals.Is(t, 1, strings.Count(s.log.String(), "at the disco"), "a panic is logged times")
}

func TestRequestID(t *testing.T) {
	s := serve(t)
	for given, taken := range map[string]bool{
		"abc-123_X.y": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "a b": false, "a\"b": false, "ä": false, "": false,
	} {
		r := s.request("GET", "/healthz", "", nil)
		r.Header.Set("X-Request-Id", given)
		if got := s.do(r).Header.Get("X-Request-Id"); (got == given) != taken || got == "" {
			t.Errorf("%q: answered with %q", given, got)
		}
	}
	r := s.request("GET", "/healthz", "", nil)
	r.Header["X-Request-Id"] = []string{"a", "b"}
	if got := s.do(r).Header.Values("X-Request-Id"); len(got) != 1 || got[0] == "a" || got[0] == "b" {
		t.Errorf("%q", got)
	}
}

func TestAccessLog(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	s.get("/v1/sites?site=shop-one", token)
	s.get("/secret/path?token="+token, "")
	s.Close()
	var lines []map[string]any
	for line := range strings.SplitSeq(strings.TrimSpace(s.log.String()), "\n") {
		var v map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &v))
		for _, volatile := range []string{"time", "duration_ms", "request_id", "bytes"} {
			if _, ok := v[volatile]; !ok {
				t.Errorf("%s is missing in %s", volatile, line)
			}
			delete(v, volatile)
		}
		lines = append(lines, v)
	}
	want := []map[string]any{
		{"level": "INFO", "msg": "request", "method": "GET", "route": "/v1/sites", "status": 200.0, "account": "1"},
		{"level": "INFO", "msg": "request", "method": "GET", "route": "none", "status": 404.0, "code": "NOT_FOUND"},
	}
	equals.Check(t, want, lines)
	for _, secret := range []string{"shop-one", "secret", token} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestCORS(t *testing.T) { // HDR-03
	s := serve(t, func(set *settings) { set.rest.AllowedOrigins = []string{"https://app.example.test"} })
	from := func(method, path, origin string) answer {
		r := s.request(method, path, s.token(reader), nil)
		r.Header.Set("Origin", origin)
		if method == "OPTIONS" {
			r.Header.Set("Access-Control-Request-Method", "GET")
			r.Header.Set("Access-Control-Request-Headers", "authorization")
		}
		return s.do(r)
	}
	for _, path := range []string{"/v1/sites", "/v1/results/stream", "/healthz", "/v1/nothing"} {
		for origin, allowed := range map[string]string{"https://app.example.test": "https://app.example.test", "https://evil.example.test": ""} {
			a := from("GET", path, origin)
			vary := strings.Join(a.Header.Values("Vary"), ", ")
			if a.Header.Get("Access-Control-Allow-Origin") != allowed || !strings.Contains(vary, "Origin") || !strings.Contains(vary, "Accept-Encoding") {
				t.Errorf("%s from %s: %v", path, origin, a.Header)
			}
			if allowed != "" && !strings.Contains(strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")), "x-ratelimit-remaining") {
				t.Errorf("%v", a.Header)
			}
			if a.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
			pre := from("OPTIONS", path, origin)
			vary = strings.Join(pre.Header.Values("Vary"), ", ")
			if pre.Header.Get("Access-Control-Allow-Origin") != allowed || pre.StatusCode != 204 ||
				!strings.Contains(vary, "Origin") || !strings.Contains(vary, "Access-Control-Request-Method") || pre.Header.Get("X-Request-Id") == "" {
				t.Errorf("preflight %s from %s: %d %v", path, origin, pre.StatusCode, pre.Header)
			}
		}
	}
	asked := s.request("OPTIONS", "/v1/orders/1/exports/history/download", "", nil) // a page that continues with a file
	asked.Header.Set("Origin", "https://app.example.test")
	asked.Header.Set("Access-Control-Request-Method", "GET")
	asked.Header.Set("Access-Control-Request-Headers", "authorization,if-range,range")
	if a := s.do(asked); a.Header.Get("Access-Control-Allow-Headers") != "authorization,if-range,range" {
		t.Errorf("Range and If-Range are not allowed: %v", a.Header)
	}
	closed := serve(t)
	r := closed.request("GET", "/healthz", "", nil)
	r.Header.Set("Origin", "https://app.example.test")
	if a := closed.do(r); a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("allowed by default: %v", a.Header)
	}
}

func TestConfigNamesAllFaults(t *testing.T) {
	cfg := rest.Defaults()
	cfg.BaseURL, cfg.AllowedOrigins, cfg.MaxBodyBytes = "ftp://x/", []string{"*", "https://a.test/path"}, 0
	err := cfg.Validate()
	for _, name := range []string{"base url", "build", `"*"`, `"https://a.test/path"`, "max body bytes"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v lacks %s", err, name)
		}
	}
	if _, err := rest.New(cfg, rest.Deps{}); err == nil {
		t.Error("a wrong configuration is taken")
	}
	cfg = rest.Defaults()
	cfg.BaseURL, cfg.Build = "http://localhost:8080/prices", "v1"
	if _, err := rest.New(cfg, rest.Deps{}); err == nil {
		t.Error("missing dependencies are taken")
	}
}

// TestAccessLevel: where requests are logged at a level that is not shown,
// successful ones leave no line.
func TestAccessLevel(t *testing.T) {
	s := serve(t, func(set *settings) { set.rest.AccessLevel = slog.LevelDebug })
	resp := must.Get(s.client.Get(s.URL + "/healthz"))(t)
	must.Do(t, resp.Body.Close())
	if log := s.log.String(); resp.StatusCode != http.StatusOK || strings.Contains(log, `"request"`) {
		t.Errorf("%d, logged %s", resp.StatusCode, log)
	}
}
