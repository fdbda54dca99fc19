package ingest

import (
	"context"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts/event"
)

// headers carries a trace context (W3C, traceparent and tracestate) in the
// headers of a message, whose names are case-sensitive.
type headers nats.Header

func (h headers) Get(key string) string {
	if values := h[key]; len(values) == 1 { // given twice counts as not given
		return values[0]
	}
	return ""
}

func (h headers) Set(key, value string) { h[key] = []string{value} }

func (h headers) Keys() []string { return slices.Collect(maps.Keys(h)) }

// publishing begins the span of an event, if there is a tracer, and writes it
// into the message's headers if it is sampled.
func (f *publication) publishing(ctx context.Context, t trace.Tracer, e *event.Event) {
	if t == nil {
		return
	}
	ctx, f.span = t.Start(ctx, "publish "+f.stream, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", f.msg.Subject),
		attribute.String("messaging.message.id", e.ID)))
	if f.span.SpanContext().IsSampled() {
		propagation.TraceContext{}.Inject(ctx, headers(f.msg.Header))
	}
}

// published ends the span.
func (f *publication) published(duplicate bool, err error) {
	if f.span == nil {
		return
	}
	f.span.SetAttributes(attribute.Bool("preismon.duplicate", duplicate), attribute.Int("preismon.tries", f.tries+1))
	fail(f.span, err)
	f.span.End()
}

func fail(s trace.Span, err error) {
	if err != nil {
		s.SetStatus(codes.Error, err.Error())
	}
}

// publisherOf returns the span in which a message was published, if it is
// sampled. Malformed headers count as none.
func publisherOf(h nats.Header) trace.SpanContext {
	if h["traceparent"] == nil {
		return trace.SpanContext{}
	}
	c := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), headers(h)))
	if !c.IsSampled() {
		return trace.SpanContext{}
	}
	return c
}

// maxLinks is how many messages of a batch its span is linked to at most.
const maxLinks = 128

// applying begins the span of one try to apply a batch, linked to the spans in
// which its messages were published. The caller must call end.
func (l *Consumer) applying(ctx context.Context, b *cut) (_ context.Context, end func(error)) {
	if l.c.Tracer == nil {
		return ctx, func(error) {}
	}
	links := make([]trace.Link, len(b.publishers))
	for i, c := range b.publishers {
		links[i] = trace.Link{SpanContext: c}
	}
	ctx, span := l.c.Tracer.Start(ctx, "process "+b.Stream, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...),
		trace.WithAttributes(attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", b.Stream),
			attribute.Int("messaging.batch.message_count", len(b.Messages)), attribute.Int("preismon.rows", b.rows),
			attribute.Int64("preismon.first", int64(b.First)), attribute.Int64("preismon.last", int64(b.Last))))
	return ctx, func(err error) {
		fail(span, err)
		span.End()
	}
}
