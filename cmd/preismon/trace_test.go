package main

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"preismon/deploy/testserver/equals"
)

// TestSampler: a batch is sampled if one of its messages is, a request never
// because of what it links to, and a child if its parent is.
func TestSampler(t *testing.T) {
	t.Parallel()
	linked := func(flags trace.TraceFlags) trace.SpanStartOption {
		return trace.WithLinks(trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true,
		})})
	}
	for name, c := range map[string]struct {
		share   float64
		options []trace.SpanStartOption
		want    int
	}{
		"batch of messages that are kept":     {0, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), linked(trace.FlagsSampled)}, 2},
		"batch of messages that are not kept": {0, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), linked(0)}, 0},
		"batch of no messages":                {0, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}, 0},
		"request with a link":                 {0, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), linked(trace.FlagsSampled)}, 0},
		"all":                                 {1, nil, 2},
	} {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sdktrace.ParentBased(linkedSampler{sdktrace.TraceIDRatioBased(c.share)})), sdktrace.WithSpanProcessor(spans)).Tracer("")
		ctx, parent := tracer.Start(t.Context(), "parent", c.options...)
		_, child := tracer.Start(ctx, "child")
		child.End()
		parent.End()
		equals.Is(t, c.want, len(spans.Ended()), "%s spans are kept", name)
	}
}

// TestTraceFlags: faults of the flags are found.
func TestTraceFlags(t *testing.T) {
	t.Parallel()
	for f, ok := range map[traceFlags]bool{
		{}: true, {"http://c:4318", 1}: true, {"c:4318", 0.5}: false, {"", -0.1}: false, {"", 1.1}: false,
	} {
		if err := f.faults(); (err == nil) != ok {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
