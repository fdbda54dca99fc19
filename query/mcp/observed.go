package mcp

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"preismon/query/wire"
)

// observed runs a tool within a span of the request's trace, if it has one, and
// reports the call.
func (h *handler) observed(ctx context.Context, x *exchange, t Tool, arguments json.RawMessage) (result Result, err error) {
	began := time.Now()
	name := t.Descriptor.Name
	span := trace.SpanFromContext(ctx)
	recording := span.IsRecording()
	if recording {
		ctx, span = span.TracerProvider().Tracer("preismon/query/mcp").Start(ctx, "execute_tool "+name,
			trace.WithAttributes(attribute.String("gen_ai.tool.name", name), attribute.String("preismon.request_id", x.requestID)))
	}
	code := wire.CodeInternal // for a panic, which continues
	defer func() {
		if recording {
			if code != "" {
				span.SetAttributes(attribute.String("error.type", code))
				span.SetStatus(codes.Error, code)
			}
			span.End()
		}
		if h.called != nil {
			h.called(Called{Tool: name, Code: code, Took: time.Since(began)})
		}
	}()
	result, err = h.run(ctx, x, t, arguments)
	code = codeOf(ctx, result, err)
	return result, err
}

// cancelled is the code of a call whose caller has left.
const cancelled = "cancelled"

// codeOf returns the code of the problem that a call ended with; empty: none.
func codeOf(ctx context.Context, r Result, err error) string {
	switch {
	case err != nil && ctx.Err() != nil:
		return cancelled
	case err != nil:
		return wire.ProblemOf(err, "").Code
	case !r.Failed:
		return ""
	}
	var p wire.Problem // made by a tool itself
	if json.Unmarshal(r.Object, &p) != nil || p.Code == "" {
		return wire.CodeInternal
	}
	return p.Code
}
