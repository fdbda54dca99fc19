package otlp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"preismon/cmd/preismon/otlp"
	"preismon/deploy/testserver/must"
)

var update = flag.Bool("update", false, "write the golden files")

func context(traceID, spanID byte, remote bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: traceID}, SpanID: trace.SpanID{7: spanID}, TraceFlags: trace.FlagsSampled, Remote: remote,
	})
}

// spans are two of one scope and one of another, with everything that our spans
// have.
func spans() []sdktrace.ReadOnlySpan {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	process := resource.NewSchemaless(attribute.String("service.name", "preismon-query"))
	rest, store := instrumentation.Scope{Name: "preismon/query/rest"}, instrumentation.Scope{Name: "preismon/query/store"}
	return tracetest.SpanStubs{
		{
			Name: "GET /v1/results", SpanContext: context(1, 2, false), SpanKind: trace.SpanKindServer, StartTime: at, EndTime: at.Add(time.Second),
			Attributes: []attribute.KeyValue{
				attribute.String("http.route", "/v1/results"), attribute.Int64("http.response.body.size", 1<<60),
				attribute.Bool("preismon.duplicate", false), attribute.Float64("share", 0.5),
			},
			Links: []sdktrace.Link{{SpanContext: context(9, 8, true)}}, Status: sdktrace.Status{Code: codes.Error, Description: "RESULTS_QUERY_TIMEOUT"},
			DroppedLinks: 3, Resource: process, InstrumentationScope: rest,
		},
		{
			Name: "clickhouse results", SpanContext: context(1, 3, false), Parent: context(1, 2, false), SpanKind: trace.SpanKindClient,
			StartTime: at, EndTime: at.Add(time.Millisecond), Resource: process, InstrumentationScope: store,
		},
		{
			Name: "GET /v1/sites", SpanContext: context(4, 5, false), Parent: context(4, 6, true), SpanKind: trace.SpanKindServer,
			StartTime: at, EndTime: at, Status: sdktrace.Status{Code: codes.Ok}, Resource: process, InstrumentationScope: rest,
		},
	}.Snapshots()
}

// TestExport compares what a collector receives with a golden file, which was
// compared by hand with opentelemetry-proto's trace.proto.
func TestExport(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	path, media := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		path, media = r.Method+" "+r.URL.Path, r.Header.Get("Content-Type")
		body, _ := io.ReadAll(r.Body)
		_ = json.Indent(&got, body, "", "  ")
	}))
	defer server.Close()
	e := must.Get(otlp.New(server.URL+"/", slog.New(slog.DiscardHandler)))(t)
	if err := e.ExportSpans(t.Context(), spans()); err != nil || e.Sent() != 3 || e.Failed() != 0 {
		t.Errorf("sent %d, failed %d, %v", e.Sent(), e.Failed(), err)
	}
	if path != "POST /v1/traces" || media != "application/json" {
		t.Errorf("%s, %s", path, media)
	}
	golden := filepath.Join("testdata", "export.json")
	if *update {
		must.Do(t, errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, append(got.Bytes(), '\n'), 0o644)))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if strings.TrimSpace(string(want)) != got.String() {
		t.Errorf("the collector got\n%s", got.String())
	}
}

// TestCollectorAway: dropped spans are counted and logged once a minute, and
// are no error for the code that creates spans.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusServiceUnavailable) }))
	defer server.Close()
	e := must.Get(otlp.New(server.URL, slog.New(slog.NewTextHandler(&log, nil))))(t)
	for range 3 {
		if err := e.ExportSpans(t.Context(), spans()); err != nil {
			t.Error(err)
		}
	}
	if e.Sent() != 0 || e.Failed() != 3 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "full") {
		t.Errorf("sent %d, failed %d, log %s", e.Sent(), e.Failed(), log.String())
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for endpoint, ok := range map[string]bool{
		"http://collector:4318": true, "https://c.example/otlp/": true,
		"": false, "collector:4318": false, "grpc://collector:4317": false, "http://": false, "http://u:p@c:4318": false, "http://c:4318?a=b": false,
	} {
		if _, err := otlp.New(endpoint, nil); (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
