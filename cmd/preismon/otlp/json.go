package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The messages of opentelemetry/proto/trace/v1/trace.proto in their JSON form:
// ids in hex, enumerations as numbers, 64-bit integers as texts.
type (
	export struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID           string     `json:"traceId"`
		SpanID            string     `json:"spanId"`
		TraceState        string     `json:"traceState,omitempty"`
		ParentSpanID      string     `json:"parentSpanId,omitempty"`
		Flags             uint32     `json:"flags"`
		Name              string     `json:"name"`
		Kind              int        `json:"kind"`
		Start             string     `json:"startTimeUnixNano"`
		End               string     `json:"endTimeUnixNano"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
		Links             []link     `json:"links,omitempty"`
		DroppedLinks      int        `json:"droppedLinksCount,omitempty"`
		Status            status     `json:"status"`
	}
	link struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
		Flags   uint32 `json:"flags"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"` // one, by its kind
	}
)

// exportOf groups spans, all of one process, by their scopes.
func exportOf(spans []sdk.ReadOnlySpan) export {
	of := map[string]int{}
	all := resourceSpans{Resource: resource{Attributes: attributesOf(spans[0].Resource().Attributes())}}
	for _, s := range spans {
		name := s.InstrumentationScope().Name
		at, known := of[name]
		if !known {
			at = len(all.ScopeSpans)
			of[name] = at
			all.ScopeSpans = append(all.ScopeSpans, scopeSpans{Scope: scope{name}})
		}
		all.ScopeSpans[at].Spans = append(all.ScopeSpans[at].Spans, spanOf(s))
	}
	return export{[]resourceSpans{all}}
}

func spanOf(s sdk.ReadOnlySpan) span {
	out := span{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), TraceState: s.SpanContext().TraceState().String(),
		Flags: flagsOf(s.SpanContext(), s.Parent().IsRemote()), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: attributesOf(s.Attributes()), DroppedAttributes: s.DroppedAttributes(), DroppedLinks: s.DroppedLinks(),
		Status: status{statusCodes[s.Status().Code], s.Status().Description},
	}
	if s.Parent().SpanID().IsValid() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, link{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), flagsOf(l.SpanContext, l.SpanContext.IsRemote())})
	}
	return out
}

// flagsOf returns the W3C flags in the low byte, and above them whether the
// other end was in another process.
func flagsOf(c trace.SpanContext, remote bool) uint32 {
	flags := uint32(c.TraceFlags()) | 1<<8
	if remote {
		flags |= 1 << 9
	}
	return flags
}

// statusCodes are the protocol's numbers, which differ from the API's.
var statusCodes = map[codes.Code]int{codes.Ok: 1, codes.Error: 2}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributesOf(all []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(all))
	for i, a := range all {
		out[i] = keyValue{string(a.Key), valueOf(a.Value)}
	}
	return out
}

func valueOf(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	}
	return map[string]any{"stringValue": v.String()} // also of lists, of which we have none
}
