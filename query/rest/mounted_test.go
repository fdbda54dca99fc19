package rest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"preismon/query/rest"
)

// TestMounted serves another surface behind the edge: with request ids,
// security headers, a log line and recovery from panics (HDR-02a to HDR-02e).
func TestMounted(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.unchecked = true
		set.rest.AllowedOrigins = []string{"https://app.example"}
		set.mounted = []rest.Mounted{
			{Paths: []string{"/other", "/.well-known/other"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "panic" {
					panic("secret")
				}
				_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
			})},
			{Paths: []string{"/own"}, OwnCORS: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Access-Control-Allow-Origin", "*")
			})},
		}
	})
	for _, path := range []string{"/other", "/.well-known/other"} {
		r := s.request("POST", path, "", nil)
		r.Header.Set("Origin", "https://app.example")
		a := s.do(r)
		if a.StatusCode != 200 || string(a.body) != "POST "+path || a.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
			t.Errorf("%s: %d %v %s", path, a.StatusCode, a.Header, a.body)
		}
		for _, name := range []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
			if a.Header.Get(name) == "" {
				t.Errorf("%s: no %s", path, name)
			}
		}
		if !strings.Contains(s.log.String(), `"route":"`+path+`"`) {
			t.Errorf("%s: not in the log", path)
		}
	}
	if a := s.get("/own", ""); a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("own CORS: %v", a.Header)
	}
	s.get("/other?panic", "").wantProblem(t, 500, "INTERNAL_ERROR")
	s.get("/other/below", "").wantProblem(t, 404, "NOT_FOUND")
}
