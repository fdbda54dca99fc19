package ingest_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func tracer(share float64) (trace.Tracer, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share))), sdktrace.WithSpanProcessor(spans)).Tracer("test"), spans
}

func named(spans *tracetest.SpanRecorder, name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(spans.Ended(), func(s sdktrace.ReadOnlySpan) bool { return s.Name() != name })
}

// TestTraceFromPublisherToSink: the span of a batch is linked to the spans that
// its messages were published in, and the sink works within it. Headers that
// are not a trace context (W3C, 3.2), or belong to a trace that is not kept,
// count as none.
func TestTraceFromPublisherToSink(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	publishing, published := tracer(1)
	p := newPublisher(t, nc, ingest.PublisherConfig{Tracer: publishing})
	for i := range 3 {
		must.Do(t, p.Publish(t.Context(), observations(i, 1)))
	}
	must.Get(p.Flush(t.Context()))(t)
	for i, poison := range []nats.Header{
		{"traceparent": {"00-zz"}, "tracestate": {strings.Repeat("=,", 600)}},
		{"traceparent": {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},
		{"traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}}, // not kept
		{"traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},
	} {
		e := observations(10+i, 1)
		b := must.Get(event.Encode(e))(t)
		must.Get(js.PublishMsg(t.Context(), &nats.Msg{Subject: e.Subject(), Data: b, Header: poison}))(t)
	}

	var mu sync.Mutex
	within := map[trace.SpanID]bool{}
	sink := newRecorder()
	sink.before = func(ctx context.Context, _ *event.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		within[trace.SpanContextFromContext(ctx).SpanID()] = true
		return nil
	}
	processing, processed := tracer(1)
	run(t, js, ingest.ConsumerConfig{Tracer: processing}, sink).reach(t, js)

	want := map[trace.SpanID]bool{}
	for _, s := range named(published, "publish OBSERVATIONS") {
		want[s.SpanContext().SpanID()] = true
	}
	if len(want) != 3 {
		t.Fatalf("%d spans of publishing", len(want))
	}
	for _, s := range named(processed, "process OBSERVATIONS") {
		if !within[s.SpanContext().SpanID()] {
			t.Errorf("the sink did not work within %s", s.SpanContext().SpanID())
		}
		for _, l := range s.Links() {
			if !want[l.SpanContext.SpanID()] {
				t.Errorf("linked to %s, where no event was published", l.SpanContext.SpanID())
			}
			delete(want, l.SpanContext.SpanID())
		}
	}
	if len(want) > 0 {
		t.Errorf("%d of the publisher's spans are linked to nothing", len(want))
	}
}

// TestPublisherWritesNoHeader: there is none for a trace that is not kept,
// since it could not be followed.
func TestPublisherWritesNoHeader(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i, share := range []float64{0, 1} {
		publishing, _ := tracer(share)
		p := newPublisher(t, nc, ingest.PublisherConfig{Tracer: publishing})
		must.Do(t, p.Publish(t.Context(), observations(i, 1)))
		must.Get(p.Flush(t.Context()))(t)
		s := must.Get(js.Stream(t.Context(), event.StreamObservations))(t)
		m := must.Get(s.GetMsg(t.Context(), uint64(i+1)))(t)
		if got := m.Header["traceparent"]; len(got) != int(share) {
			t.Errorf("share %v: traceparent %v", share, got)
		}
	}
}

// TestSettled: the outcome of every event that was sent is reported.
func TestSettled(t *testing.T) {
	t.Parallel()
	nc, _ := connect(t)
	var mu sync.Mutex
	got := map[bool]int{}
	p := newPublisher(t, nc, ingest.PublisherConfig{Settled: func(s ingest.Settled) {
		mu.Lock()
		defer mu.Unlock()
		if s.Stream != event.StreamObservations || s.Took <= 0 || s.Err != nil {
			t.Errorf("%+v", s)
		}
		got[s.Duplicate]++
	}})
	for _, n := range []int{1, 2, 1} {
		must.Do(t, p.Publish(t.Context(), observations(n, 1)))
		must.Get(p.Flush(t.Context()))(t)
	}
	if got[false] != 2 || got[true] != 1 {
		t.Errorf("%v", got)
	}
}
