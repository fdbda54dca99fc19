package openapitest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

const (
	row     = `{"itemId":"1","site":"a","capturedAt":"2026-03-01T00:00:00.000Z","availability":"UNKNOWN","price":null,"priceMoney":null,"currencyCode":null,"merchant":null}`
	problem = `{"type":"https://prices.example.test/problems/x","title":"T","status":400,"detail":"D","code":"MVP_VALIDATION_ERROR"}`
)

func headers(more ...string) http.Header {
	h := http.Header{}
	for _, name := range []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
		h.Set(name, "x")
	}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		h[name] = []string{"1"} // in the service's spelling
	}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func exchange(method, target string, status int, contentType, body string) *openapitest.Exchange {
	u, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	return &openapitest.Exchange{
		Method: method, URL: u, RequestHeader: http.Header{"Authorization": {"Bearer t"}}, Status: status,
		Header: headers("Content-Type", contentType), Body: []byte(body),
	}
}

// Each exchange is right as given and wrong after one change.
func TestCheck(t *testing.T) {
	type change = func(*openapitest.Exchange)
	sites := func() *openapitest.Exchange {
		return exchange("GET", "/v1/sites?limit=1", 200, "application/json", `{"data":[],"paging":{"limit":1,"returned":0},"query":{}}`)
	}
	refused := func() *openapitest.Exchange {
		return exchange("GET", "/v1/sites?limit=x", 400, "application/problem+json", problem)
	}
	stream := func() *openapitest.Exchange {
		x := exchange("GET", "/v1/results/stream", 200, "application/x-ndjson", row+"\n"+row+"\n")
		x.Header.Set("X-Results-Scope", "scoped")
		x.Trailer = http.Header{"X-Results-Complete": {"true"}, "X-Results-Returned": {"2"}}
		return x
	}
	unknown := func() *openapitest.Exchange {
		return exchange("GET", "/v1/nothing", 404, "application/problem+json", strings.ReplaceAll(problem, "400", "404"))
	}
	order := func() *openapitest.Exchange {
		return exchange("GET", "/v1/orders/17/imports", 200, "application/json", `{"data":[],"paging":{"limit":1,"returned":0},"query":{"orderId":"17"}}`)
	}
	download := func() *openapitest.Exchange {
		x := exchange("GET", "/v1/orders/17/imports/history/download", 200, "text/csv; charset=utf-8", "a;b")
		x.Header.Set("Content-Disposition", `attachment; filename=a.csv`)
		return x
	}
	body := func(s string) change { return func(x *openapitest.Exchange) { x.Body = []byte(s) } }
	target := func(s string) change { return func(x *openapitest.Exchange) { x.URL, _ = url.Parse(s) } }
	header := func(name, value string) change { return func(x *openapitest.Exchange) { x.Header.Set(name, value) } }
	without := func(name string) change {
		return func(x *openapitest.Exchange) { x.Header.Del(name); delete(x.Header, name) }
	}
	for name, c := range map[string]struct {
		right  func() *openapitest.Exchange
		change change
	}{
		"further field":           {sites, body(`{"data":[],"paging":{"limit":1,"returned":0},"query":{},"x":1}`)},
		"missing field":           {sites, body(`{"data":[],"paging":{"limit":1}}`)},
		"no JSON":                 {sites, body(`{`)},
		"media type":              {sites, header("Content-Type", "text/html")},
		"no security header":      {sites, without("Referrer-Policy")},
		"no rate limit":           {sites, without("X-RateLimit-Reset")},
		"wrong rate limit":        {sites, func(x *openapitest.Exchange) { x.Header["X-RateLimit-Limit"] = []string{"many"} }},
		"unknown parameter":       {sites, target("/v1/sites?x=1")},
		"repeated parameter":      {sites, target("/v1/sites?limit=1&limit=1")},
		"parameter out of range":  {sites, target("/v1/sites?limit=1001")},
		"no token":                {sites, func(x *openapitest.Exchange) { x.RequestHeader.Del("Authorization") }},
		"status not documented":   {sites, func(x *openapitest.Exchange) { x.Status = 203 }},
		"coding not known":        {sites, header("Content-Encoding", "br")},
		"coding without vary":     {sites, header("Content-Encoding", "gzip")},
		"path not documented":     {sites, target("/v1/stores")},
		"method not documented":   {sites, func(x *openapitest.Exchange) { x.Method = "POST" }},
		"code of another area":    {refused, body(strings.ReplaceAll(problem, "MVP_VALIDATION_ERROR", "ORDER_SCOPE_TOO_BROAD"))},
		"code not in the list":    {refused, body(strings.ReplaceAll(problem, "MVP_VALIDATION_ERROR", "OTHER_ERROR"))},
		"problem with more":       {refused, body(strings.Replace(problem, "{", `{"instance":"x",`, 1))},
		"problem as plain JSON":   {refused, header("Content-Type", "application/json")},
		"line with more":          {stream, body(row + "\n" + strings.Replace(row, "{", `{"x":1,`, 1) + "\n")},
		"line with a wrong time":  {stream, body(row + "\n" + strings.Replace(row, "2026-03-01T", "2026-03-32T", 1) + "\n")},
		"line without its end":    {stream, body(row + "\n" + row)},
		"a line too few":          {stream, body(row + "\n")},
		"no trailer":              {stream, func(x *openapitest.Exchange) { x.Trailer = nil }},
		"no scope header":         {stream, without("X-Results-Scope")},
		"unknown path, no object": {unknown, body("nothing here")},
		"unknown path, served":    {unknown, func(x *openapitest.Exchange) { x.Status = 200 }},
		"path parameter":          {order, target("/v1/orders/007/imports")},
		"echo without order":      {order, body(`{"data":[],"paging":{"limit":1,"returned":0},"query":{}}`)},
		"download, media type":    {download, header("Content-Type", "text/csv")},
		"download, filename":      {download, without("Content-Disposition")},
	} {
		x := c.right()
		equals.NoError(t, x.Check(), "%s: before the change", name)
		c.change(x)
		if err := x.Check(); err == nil {
			t.Errorf("%s: passes", name)
		}
	}
}

func TestHandler(t *testing.T) {
	var found []error
	serve := func(status int, body string) {
		h := openapitest.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range headers("Content-Type", "application/json") {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}), func(err error) { found = append(found, err) })
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil))
	}
	if serve(200, `{"status":"ok","contractVersion":"1.00","build":"v1"}`); found != nil {
		t.Errorf("%v", found)
	}
	if serve(200, `{"status":"ok"}`); len(found) != 1 {
		t.Errorf("%v", found)
	}
}

func TestTransport(t *testing.T) {
	answer := `{"status":"ok"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range headers("Content-Type", "application/json") {
			w.Header()[name] = values
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	var found []error
	client := &http.Client{Transport: openapitest.Transport(server.Client().Transport, func(err error) { found = append(found, err) })}
	for _, want := range []int{1, 1} { // the second answer adds no error
		resp := must.Get(client.Get(server.URL + "/healthz"))(t)
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != answer {
			t.Errorf("%s %v", body, err)
		}
		resp.Body.Close()
		if len(found) != want {
			t.Errorf("%v", found)
		}
		answer = `{"status":"ok","contractVersion":"1.00","build":"v1"}`
	}
}

// Lines are recognized the same way however they are cut into pieces.
func TestLines(t *testing.T) {
	text := row + "\n" + row + "\n" + strings.Replace(row, "{", `{"x":1,`, 1) + "\n" + row + "\n"
	for size := 1; size < len(text); size += 37 {
		x := exchange("GET", "/v1/results/stream", 200, "application/x-ndjson", "")
		x.Header.Set("X-Results-Scope", "scoped")
		x.Trailer = http.Header{"X-Results-Complete": {"true"}, "X-Results-Returned": {"4"}}
		x.Lines = &openapitest.Lines{}
		for piece := range slices.Chunk([]byte(text), size) {
			x.Lines.Write(piece)
		}
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), "line 3") || strings.Contains(err.Error(), "trailers") || strings.Contains(err.Error(), "line 2") {
			t.Errorf("pieces of %d: %v", size, err)
		}
	}
}
