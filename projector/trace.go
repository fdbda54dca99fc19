package projector

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// spanOf begins the span of a statement if its batch has one; ch-go passes it
// on to ClickHouse. The caller must call end. queryID is empty if ClickHouse
// chooses it.
func spanOf(ctx context.Context, what, queryID string) (_ context.Context, end func(error)) {
	batch := trace.SpanFromContext(ctx)
	if !batch.IsRecording() {
		if batch.SpanContext().IsValid() { // of a trace that is not recorded, so ClickHouse must not record it either
			ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
		}
		return ctx, func(error) {}
	}
	ctx, span := batch.TracerProvider().Tracer("preismon/projector").Start(ctx, "clickhouse "+what,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("db.system.name", "clickhouse"), attribute.String("db.query.summary", what),
			attribute.String("clickhouse.query_id", queryID)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
