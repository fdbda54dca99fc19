package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"preismon/deploy/testserver/equals"
	"preismon/query/mcp"
)

// TestToolsAreObserved: each call is reported with its result, and is a span in
// its request's trace.
func TestToolsAreObserved(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	var told []string
	s, h := handlerOf(t, func(set *settings) {
		set.called = func(c mcp.Called) { told = append(told, strings.TrimSpace(c.Tool+" "+c.Code)) }
	})
	within := edge(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(r.Context(), "request")
		defer span.End()
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	for _, tool := range []string{"echo", "broad", "missing", "broken", "away", "panics"} {
		r := httptest.NewRequest(http.MethodPost, baseURL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+s.token())
		within.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{"echo", "broad RESULTS_SCOPE_TOO_BROAD", "missing ORDER_NOT_FOUND", "broken INTERNAL_ERROR", "away SERVICE_UNAVAILABLE", "panics INTERNAL_ERROR"}
	equals.Check(t, want, told)
	var got []string
	for _, span := range spans.Ended() {
		if span.Name() == "request" {
			continue
		}
		code, id := "", ""
		for _, a := range span.Attributes() {
			switch a.Key {
			case "error.type":
				code = a.Value.AsString()
			case "preismon.request_id":
				id = a.Value.AsString()
			}
		}
		tool, _ := strings.CutPrefix(span.Name(), "execute_tool ")
		got = append(got, strings.TrimSpace(tool+" "+code))
		parent := slices.IndexFunc(spans.Ended(), func(p sdktrace.ReadOnlySpan) bool { return p.SpanContext().SpanID() == span.Parent().SpanID() })
		if id != "request-1" || parent < 0 || spans.Ended()[parent].Name() != "request" {
			t.Errorf("%s: request %q, parent %d", span.Name(), id, parent)
		}
	}
	equals.Check(t, want, got)
}
