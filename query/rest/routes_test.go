package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/contracts/openapi"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/rest"
	"preismon/query/wire"
)

// routePath fills an id into each parameter of a route's path.
func routePath(path string) string {
	return regexp.MustCompile(`\{[A-Za-z]+\}`).ReplaceAllString(path, "7") + required[path]
}

// required are the parameters that a route needs at least.
var required = map[string]string{
	"/ext/v1/movers": "?itemId=7&since=2026-01-01", "/ext/v1/explain": "?path=/v1/sites", "/ext/v1/windows": "?capturedFrom=2026-01-01",
	"/ext/v1/alerts":   "?rule=OUT_OF_STOCK",
	"/ext/v1/evidence": "?itemId=7&site=shop-one&capturedAt=2026-01-01T00:00:00Z",
}

// domainRoutes returns the routes of the contract that need a token.
func domainRoutes() (paths []string) {
	for _, route := range rest.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method == "GET" && strings.HasPrefix(strings.TrimPrefix(path, "/ext"), "/v1/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// leaks matches words that an error never shows: from libraries, from our code,
// about other machines.
var leaks = regexp.MustCompile(`(?i)goroutine|\.go:|panic|clickhouse|code: \d|strconv|json: |invalid character|unexpected EOF|gin-gonic|http: |nats|secret|10\.0\.0\.7`)

// provoked is a way to make any domain route fail.
type provoked struct {
	status int
	code   string
	do     func(s *surface, path string) answer
}

func get(change func(r *http.Request)) func(*surface, string) answer {
	return func(s *surface, path string) answer {
		r := s.request("GET", path, s.token(reader), nil)
		change(r)
		return s.do(r)
	}
}

func breaking(err error) func(*surface, string) answer {
	return func(s *surface, path string) answer {
		s.store.breakDown(func(string) error { return err })
		defer s.store.breakDown(nil)
		return s.get(path, s.token(reader))
	}
}

func requested(query string) func(*surface, string) answer {
	return func(s *surface, path string) answer {
		if strings.HasPrefix(path, "/ext/v1/explain") {
			path, _, _ = strings.Cut(path, "?") // otherwise the read has them, too
		}
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		return s.get(path+separator+query, s.token(reader))
	}
}

var provocations = map[string]provoked{
	"an unknown argument":     {400, "MVP_VALIDATION_ERROR", requested("nonsense=1")},
	"one that is unknown":     {400, "MVP_VALIDATION_ERROR", requested("access_token=x")},
	"a repeated argument":     {400, "MVP_VALIDATION_ERROR", requested("limit=1&limit=1")},
	"an empty argument":       {400, "MVP_VALIDATION_ERROR", requested("limit=")},
	"an argument of no name":  {400, "MVP_VALIDATION_ERROR", requested("=1")},
	"a malformed argument":    {400, "MVP_VALIDATION_ERROR", requested("limit=%zz")},
	"a semicolon":             {400, "MVP_VALIDATION_ERROR", requested("limit=1;cursor=x")},
	"no UTF-8":                {400, "MVP_VALIDATION_ERROR", requested("limit=%ff")},
	"a control character":     {400, "MVP_VALIDATION_ERROR", requested("limit=%00")},
	"a name that is markup":   {400, "MVP_VALIDATION_ERROR", requested("%3Cscript%3E=1")},
	"no token":                {401, "AUTH_TOKEN_INVALID", get(func(r *http.Request) { r.Header.Del("Authorization") })},
	"Basic":                   {401, "AUTH_SCHEME_NOT_ALLOWED", get(func(r *http.Request) { r.SetBasicAuth("reader@example.com", password) })}, // AUTH-03, ERR-04
	"an account without area": {403, "AUTH_FORBIDDEN", func(s *surface, path string) answer { return s.get(path, s.token(nowhere)) }},          // AUTH-08, ERR-05, ERR-E1, ERR-E2
	"a large body":            {413, "PAYLOAD_TOO_LARGE", get(func(r *http.Request) { setBody(r, bytes.Repeat([]byte("x"), 70_000)) })},
	"a store that fails":      {500, "INTERNAL_ERROR", breaking(errBroken)},
	"a store that panics": {500, "INTERNAL_ERROR", func(s *surface, path string) answer {
		s.store.breakDown(func(string) error { panic("secret state") })
		defer s.store.breakDown(nil)
		return s.get(path, s.token(reader))
	}},
	"a store that is away": {503, "SERVICE_UNAVAILABLE", breaking(&fault.Error{Kind: fault.Unavailable, RetryAfter: time.Second, Err: errBroken})},
	"a store out of time":  {504, "RESULTS_QUERY_TIMEOUT", breaking(fmt.Errorf("clickhouse: %w", context.DeadlineExceeded))},
}

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// special are the answers that only some routes have, by the route and the
// status that the contract declares for it: the request, and the expected code
// of the problem or, if there is none, the expected body.
type special struct {
	path       string // after the order
	order      string // "5" when it is empty
	ranges     string // the header Range
	condition  string // a header, whose value is etag
	etag       string
	code, body string
	do         func(*surface) answer // where more than a request is needed
}

func specials() map[string][]special {
	const under = "/v1/orders/{orderId}"
	all := map[string][]special{}
	for _, route := range append([]string{"", "observation-quality"}, bothDirections()...) { // ERR-06
		path := strings.TrimSuffix("/"+route, "/")
		all[under+path+" 404"] = []special{{path: path, order: "7", code: "ORDER_NOT_FOUND"}, {path: path, order: "none", code: "ORDER_NOT_FOUND"}}
	}
	for _, id := range []string{"0", "007", "18446744073709551616"} { // ORD-00c
		all[under+" 404"] = append(all[under+" 404"], special{order: id, code: "ORDER_NOT_FOUND"})
	}
	for path, begin := range map[string]string{
		"/ext/v1/changes": "site=shop-one", "/ext/v1/alerts": "rule=OUT_OF_STOCK&site=shop-one", "/ext/v1/windows": "site=shop-one&capturedFrom=2026-01-01",
	} {
		all[path+" 410"] = []special{{code: "CHANGES_HISTORY_REBUILT", do: func(s *surface) answer {
			begun := decode[begunFeed](s.t, s.get(path+"?"+begin, s.token(reader)))
			s.store.rebuild()
			return s.get(path+"?since="+begun.token(), s.token(reader))
		}}}
	}
	all["/v1/results/stream 304"] = []special{{do: func(s *surface) answer {
		seen := &s.store.accounts[reader].Visibility
		seen.Snapshot = 1
		defer func() { seen.Snapshot = 0 }()
		r := s.request("GET", "/v1/results/stream?site=shop-one&capturedFrom=2026-01-01&capturedTo=2026-01-02", s.token(reader), nil)
		r.Header.Set("If-None-Match", "*")
		return s.do(r)
	}}}
	for _, d := range []string{"/exports", "/imports"} {
		latest, download := d+"/history/latest", d+"/history/download"
		for _, path := range []string{latest, download} {
			all[under+path+" 404"] = append(all[under+path+" 404"], special{path: path + "?name=none", code: "HISTORY_ARTIFACT_NOT_FOUND"})
		}
		held := string(heldContent)
		all[under+download+" 200"] = []special{{path: download + "?name=held", body: held}}
		all[under+download+" 206"] = []special{{path: download + "?name=held", ranges: "bytes=5-9", body: held[5:10]}}
		all[under+download+" 409"] = []special{{path: download + "?name=lost", code: "HISTORY_ARTIFACT_CONTENT_MISSING"}}
		all[under+download+" 413"] = []special{{path: download + "?latest=true", code: "PAYLOAD_TOO_LARGE"}}
		etag := `"` + heldFiles[0].SHA256 + `"`
		all[under+download+" 304"] = []special{{path: download + "?name=held", condition: "If-None-Match", etag: etag}}
		all[under+download+" 412"] = []special{{path: download + "?name=held", condition: "If-Match", etag: `"other"`, code: "PRECONDITION_FAILED"}}
		all[under+download+" 416"] = []special{{path: download + "?name=held", ranges: "bytes=100-", code: "RANGE_NOT_SATISFIABLE"}}
	}
	return all
}

func (p special) ask(s *surface) answer {
	if p.do != nil {
		return p.do(s)
	}
	r := s.request("GET", "/v1/orders/"+or(p.order, "5")+p.path, s.token(reader), nil)
	if p.ranges != "" {
		r.Header.Set("Range", p.ranges)
	}
	if p.condition != "" {
		r.Header.Set(p.condition, p.etag)
	}
	return s.do(r)
}

// Every domain route answers every failure with the strict problem object, and
// every status that the contract declares for a route is provoked: ERR-00a,
// ERR-00b, ERR-F2, ERR-F3, ERR-F4, ERR-01a, OPEN-17.
func TestAllRoutesAndAllProblems(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.Reads.Requests = 1_000_000
		set.archives = []query.Archive{memoryArchive{}}
	})
	s.store.allow(nowhere)
	codes, provoke := map[string]bool{}, specials()
	judge := func(t *testing.T, what string, a answer, status int, code string) {
		t.Helper()
		p := a.wantProblem(t, status, code)
		codes[p.Code] = true
		if p.Title == "" || p.Detail == "" || p.Type == "" { // ERR-F2, ERR-F4
			t.Errorf("%s: %s", what, a.body)
		}
		if p.Status != a.StatusCode { // ERR-F3
			t.Errorf("%s: status %d in the body, %d outside", what, p.Status, a.StatusCode)
		}
		equals.Is(t, "", leaks.FindString(p.Detail+p.Title), "%s shows in %s", what, a.body)
		wantQuota(t, a)
		for _, name := range []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
			if len(a.Header.Values(name)) != 1 { // HDR-01, HDR-02a, HDR-02b, HDR-02c, HDR-02d, HDR-02e
				t.Errorf("%s: %s %q", what, name, a.Header.Values(name))
			}
		}
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control %q", what, a.Header.Get("Cache-Control"))
		}
	}
	for _, path := range domainRoutes() {
		statuses := map[string]bool{}
		for what, p := range provocations {
			what = path + ": " + what
			judge(t, what, p.do(s, routePath(path)), p.status, p.code)
			statuses[strconv.Itoa(p.status)] = true
		}
		item := openapitest.Path(path)
		if item == nil || item.Get == nil {
			t.Errorf("%s is served and not in the contract", path)
			continue
		}
		statuses["429"] = true // below
		if whole := s.get(strings.NewReplacer("{orderId}", "5", "{itemId}", "11").Replace(path)+required[path], s.token(reader)); whole.StatusCode == 200 {
			statuses["200"] = true
		}
		for _, status := range slices.Sorted(maps.Keys(item.Get.Responses.Map())) {
			for _, p := range provoke[path+" "+status] {
				what := path + p.path + " " + status
				a := p.ask(s)
				if strconv.Itoa(a.StatusCode) != status {
					t.Errorf("%s: %d: %s", what, a.StatusCode, a.body)
				} else if p.code != "" {
					judge(t, what, a, a.StatusCode, p.code)
				} else if string(a.body) != p.body {
					t.Errorf("%s: %q", what, a.body)
				}
				statuses[status] = true
			}
			if !statuses[status] {
				t.Errorf("%s: the contract declares status %s, and nothing here provokes it: add it to specials", path, status)
			}
			delete(provoke, path+" "+status)
		}
	}
	for what := range provoke {
		t.Errorf("%s is provoked here and not in the contract", what)
	}
	// Whatever code a store returns, it is its own problem; the contract does
	// not declare all of them for results.
	loose := serve(t, func(set *settings) { set.throttle.Reads.Requests, set.unchecked = 1_000_000, true })
	for _, code := range wire.Codes() {
		meaning, _ := wire.MeaningOf(code)
		status := meaning.Status
		kind := map[int]fault.Kind{
			400: fault.Invalid, 401: fault.Unauthenticated, 403: fault.Forbidden, 404: fault.NotFound, 405: fault.Invalid, 409: fault.Conflict, 410: fault.Gone,
			413: fault.TooLarge, 429: fault.RateLimited, 500: fault.Internal, 503: fault.Unavailable, 504: fault.Timeout,
		}[status]
		loose.store.breakDown(func(method string) error {
			if method != "Results" {
				return nil
			}
			return &fault.Error{Kind: kind, Code: code, Err: errBroken, ActualBytes: -1, MaxBytes: -1}
		})
		judge(t, code, loose.get("/v1/results", loose.token(reader)), status, code)
		loose.store.breakDown(nil)
	}
	for _, code := range wire.Codes() {
		if !codes[code] {
			t.Errorf("no answer had code %s", code)
		}
	}
	throttled := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1 })
	throttled.get("/v1/sites", throttled.token(reader))
	for _, path := range domainRoutes() { // ERR-10
		a := throttled.get(routePath(path), throttled.token(reader))
		a.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 {
			t.Errorf("%s: Retry-After %q", path, a.Header.Get("Retry-After"))
		}
	}
}

// Every path accepts its own methods and names them when it gets another one,
// so that nothing but reading is possible (GEN-07a).
func TestAllMethods(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 10_000 })
	docs := must.Get(openapi.Documents(baseURL))(t)
	methods := map[string][]string{}
	for _, route := range rest.Routes(docs...) {
		method, path, _ := strings.Cut(route, " ")
		methods[path] = append(methods[path], method)
		if method == "GET" && path != "/v1/results/stream" { // choices 64
			methods[path] = append(methods[path], "HEAD")
		}
	}
	for path, allowed := range methods {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(allowed, method) {
				continue
			}
			a := s.do(s.request(method, routePath(path), "", nil))
			if a.StatusCode != 405 || a.Header.Get("Allow") != strings.Join(allowed, ", ") {
				t.Errorf("%s %s: %d, Allow %q", method, path, a.StatusCode, a.Header.Get("Allow"))
			}
			if method != "HEAD" {
				a.wantProblem(t, 405, "METHOD_NOT_ALLOWED")
			} else if len(a.body) != 0 {
				t.Errorf("HEAD %s: %q", path, a.body)
			}
		}
		// A method in a header does not count.
		r := s.request("GET", routePath(path), s.token(reader), nil)
		r.Header.Set("X-HTTP-Method-Override", "DELETE")
		if a := s.do(r); slices.Contains(allowed, "GET") && a.StatusCode == 405 {
			t.Errorf("%s: a header changed the method", path)
		}
	}
}
