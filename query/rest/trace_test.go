package rest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"preismon/deploy/testserver/equals"
	"preismon/query/rest"
)

// traced serves with a tracer that keeps a share of the traces begun here.
func traced(t *testing.T, share float64, change ...func(*settings)) (*surface, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share))), sdktrace.WithSpanProcessor(spans))
	change = append(change, func(s *settings) { s.tracer = provider.Tracer("test") })
	return serve(t, change...), spans
}

func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// TestRequestSpan: a request has one span, which says what the access log says,
// and the log names the trace.
func TestRequestSpan(t *testing.T) {
	t.Parallel()
	s, spans := traced(t, 1)
	r := s.request(http.MethodGet, "/v1/orders/999", s.token(reader), nil)
	r.Header.Set("X-Request-Id", "span-1")
	s.do(r)
	ended := spans.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	got := attributesOf(ended[0])
	delete(got, "http.response.body.size")
	want := map[string]string{
		"http.request.method": "GET", "http.route": "/v1/orders/:orderId", "http.response.status_code": "404",
		"preismon.request_id": "span-1", "error.type": "ORDER_NOT_FOUND",
	}
	equals.Check(t, want, got)
	if ended[0].Name() != "GET /v1/orders/:orderId" || ended[0].SpanKind() != trace.SpanKindServer || len(ended[0].Links()) != 0 {
		t.Errorf("span %q, %s, links %v", ended[0].Name(), ended[0].SpanKind(), ended[0].Links())
	}
	if id := ended[0].SpanContext().TraceID().String(); !strings.Contains(s.log.String(), `"trace_id":"`+id) {
		t.Errorf("the log does not name trace %s: %s", id, s.log)
	}
}

// TestTraceparentOfCallers: a caller decides neither the trace of a request nor
// whether it is kept, unless that is allowed; headers that are not valid trace
// context (W3C, 3.2) do no harm.
func TestTraceparentOfCallers(t *testing.T) {
	t.Parallel()
	const id, sampled, unsampled = "4bf92f3577b34da6a3ce929d0e0e4736", "-00f067aa0ba902b7-01", "-00f067aa0ba902b7-00"
	for name, c := range map[string]struct {
		header   []string
		state    string
		goesOn   bool
		share    float64
		spans    int
		ofCaller bool // the span is in the caller's trace
		linked   bool
	}{
		"none":                         {share: 1, spans: 1},
		"not believed":                 {header: []string{"00-" + id + sampled}, share: 1, spans: 1, linked: true},
		"cannot force":                 {header: []string{"00-" + id + sampled}, share: 0},
		"cannot prevent":               {header: []string{"00-" + id + unsampled}, share: 1, spans: 1, linked: true},
		"believed, kept":               {header: []string{"00-" + id + sampled}, goesOn: true, share: 0, spans: 1, ofCaller: true},
		"believed, not kept":           {header: []string{"00-" + id + unsampled}, goesOn: true, share: 1},
		"garbage":                      {header: []string{"<script>;DROP TABLE"}, goesOn: true, share: 1, spans: 1},
		"zero ids":                     {header: []string{"00-00000000000000000000000000000000-0000000000000000-01"}, goesOn: true, share: 1, spans: 1},
		"version ff":                   {header: []string{"ff-" + id + sampled}, goesOn: true, share: 1, spans: 1},
		"upper case":                   {header: []string{"00-" + strings.ToUpper(id) + sampled}, goesOn: true, share: 1, spans: 1},
		"too long":                     {header: []string{"00-" + id + sampled + strings.Repeat("-a", 4000)}, goesOn: true, share: 1, spans: 1},
		"twice":                        {header: []string{"00-" + id + sampled, "00-" + id + sampled}, goesOn: true, share: 1, spans: 1},
		"a state that is no state":     {header: []string{"00-" + id + sampled}, state: "=,=;" + strings.Repeat("a=b,", 99), goesOn: true, share: 0, spans: 1, ofCaller: true},
		"a state that is not believed": {header: []string{"00-" + id + sampled}, state: "vendor=secret", share: 1, spans: 1, linked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, spans := traced(t, c.share, func(s *settings) { s.rest.ContinueTraces = c.goesOn })
			r := s.request(http.MethodGet, "/v1/sites", s.token(reader), nil)
			r.Header["Traceparent"] = c.header
			if c.state != "" {
				r.Header.Set("Tracestate", c.state)
			}
			s.do(r).want(t, 200)
			s.Close() // the span ends after the answer
			ended := spans.Ended()
			if len(ended) != c.spans {
				t.Fatalf("%d spans, want %d", len(ended), c.spans)
			}
			if c.spans == 0 {
				return
			}
			equals.Is(t, c.ofCaller, ended[0].SpanContext().TraceID().String() == id, "in the trace of the caller")
			links := ended[0].Links()
			equals.Is(t, c.linked, len(links) == 1 && links[0].SpanContext.TraceID().String() == id, "linked to the caller, %v", links)
			for _, l := range links {
				if l.SpanContext.IsSampled() || l.SpanContext.TraceState().Len() > 0 {
					t.Errorf("the link has more than ids: %v", l.SpanContext)
				}
			}
		})
	}
}

// TestServed: reported requests have few distinct names, whatever callers send,
// and each begin has an end.
func TestServed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	begun := 0
	s := serve(t, func(s *settings) {
		s.unchecked = true // the contract has no such mount
		s.mounted = []rest.Mounted{{Paths: []string{"/m"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}}
		s.serving = func() func(rest.Served) {
			mu.Lock()
			defer mu.Unlock()
			begun++
			return func(x rest.Served) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, strings.TrimSpace(x.Operation+" "+http.StatusText(x.Status)+" "+x.Code))
			}
		}
	})
	token := s.token(reader)
	for _, r := range []*http.Request{
		s.request(http.MethodGet, "/v1/sites", token, nil),
		s.request(http.MethodGet, "/v1/sites", "", nil),
		s.request(http.MethodGet, "/v1/results?limit=zero", token, nil),
		s.request(http.MethodGet, "/v1/orders/999", token, nil),
		s.request(http.MethodGet, "/nobody/knows/"+strings.Repeat("x", 99), token, nil),
		s.request("BREW", "/v1/sites", token, nil),
		s.request(http.MethodDelete, "/v1/sites", token, nil),
		s.request("BREW", "/m", "", nil),
	} {
		s.do(r)
	}
	s.Close()
	want := []string{
		"GET /v1/sites OK", "GET /v1/sites Unauthorized AUTH_TOKEN_INVALID", "GET /v1/results Bad Request MVP_VALIDATION_ERROR",
		"GET /v1/orders/:orderId Not Found ORDER_NOT_FOUND", "none Not Found NOT_FOUND",
		"none Method Not Allowed METHOD_NOT_ALLOWED", "none Method Not Allowed METHOD_NOT_ALLOWED",
		"other /m No Content",
	}
	if d := cmp.Diff(want, got); d != "" || begun != len(want) {
		t.Errorf("%d begun: %s", begun, d)
	}
}
