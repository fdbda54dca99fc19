package rest

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// begin starts the span of a request, if there is a tracer. A caller's
// traceparent (W3C Trace Context) is not trusted: the span begins its own
// trace, with the caller's as a link, and whether it is kept is decided here.
// Only with ContinueTraces does it continue the caller's trace and the decision
// made there. A malformed header is ignored.
func (a *api) begin(ctx context.Context, r *http.Request, x *exchange) context.Context {
	if a.tracer == nil {
		return ctx
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", methodOf(r)), attribute.String("preismon.request_id", x.id))}
	if caller := callerOf(r); caller.IsValid() && a.cfg.ContinueTraces {
		ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	} else if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{
			// Only its ids: not its state, and not its request to be kept.
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: caller.TraceID(), SpanID: caller.SpanID(), Remote: true}),
		}))
	}
	ctx, x.span = a.tracer.Start(ctx, methodOf(r), options...)
	return ctx
}

// callerOf returns the span that a caller claims to be in.
func callerOf(r *http.Request) trace.SpanContext {
	if len(r.Header.Values("Traceparent")) != 1 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)))
}

// end ends the span with what was served.
func (x *exchange) end(s Served) {
	if x.span == nil {
		return
	}
	x.span.SetName(s.Operation)
	x.span.SetAttributes(attribute.String("http.route", x.route), attribute.Int("http.response.status_code", s.Status),
		attribute.Int64("http.response.body.size", s.Bytes))
	if s.Code != "" {
		x.span.SetAttributes(attribute.String("error.type", s.Code))
	}
	if s.Status >= http.StatusInternalServerError || s.Broken {
		x.span.SetStatus(codes.Error, s.Code)
	}
	x.span.End()
}

// traceID returns the id of the request's trace; empty: it has none that is
// kept.
func (x *exchange) traceID() string {
	if x.span == nil || !x.span.SpanContext().IsSampled() {
		return ""
	}
	return x.span.SpanContext().TraceID().String()
}
