package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"preismon/cmd/preismon/otlp"
	"preismon/contracts"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traceFlags configure where traces go. There is no other way to configure it:
// the variables OTEL_EXPORTER_... and OTEL_TRACES_... are ignored.
type traceFlags struct {
	Endpoint string  `name:"trace-endpoint" help:"OTLP/HTTP receiver of traces, like http://collector:4318; without one there are none." placeholder:"URL"`
	Sample   float64 `name:"trace-sample" help:"Share of the traces started here that is kept, from 0 to 1." default:"0.05"`
}

// faults is not called Validate, otherwise kong would call it and report only its faults.
func (f traceFlags) faults() error {
	var faults contracts.Faults
	if f.Endpoint != "" {
		_, err := otlp.New(f.Endpoint, nil)
		faults.Under("trace-endpoint", err)
	}
	faults.Check(f.Sample >= 0 && f.Sample <= 1, "trace-sample: %v is not from 0 to 1", f.Sample)
	return faults.Err()
}

// tracing creates spans and sends them; nil: tracing is off.
type tracing struct {
	provider *sdktrace.TracerProvider
	exporter *otlp.Exporter
	ended    atomic.Uint64
	log      *slog.Logger
}

// start starts tracing as the first part of the lifecycle, so that it stops
// last, and publishes its state on the admin surface.
func (f traceFlags) start(l *lifecycle, a *admin, role string, log *slog.Logger) (*tracing, error) {
	var t *tracing
	if f.Endpoint != "" {
		exporter, err := otlp.New(f.Endpoint, log)
		if err != nil {
			return nil, err
		}
		t = &tracing{exporter: exporter, log: log}
		t.provider = sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sdktrace.ParentBased(linkedSampler{sdktrace.TraceIDRatioBased(f.Sample)})),
			sdktrace.WithResource(resource.NewSchemaless(
				attribute.String("service.name", "preismon-"+role), attribute.String("service.version", build()))),
			sdktrace.WithSpanProcessor(counting{&t.ended}),
			sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(exporter)))
		l.defers("traces", t.flush)
	}
	t.observe(a)
	return t, nil
}

// tracer returns the tracer of a package; nil without tracing.
func (t *tracing) tracer(name string) trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("preismon/" + name)
}

// flushLimit bounds how long a stop waits for a collector.
const flushLimit = 3 * time.Second

// flush sends what is left. What the collector does not accept is dropped, and
// is no reason to end with an error.
func (t *tracing) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans were lost", "error", err)
	}
	return nil
}

func (t *tracing) observe(a *admin) {
	count := func(of func() uint64) func() uint64 {
		return func() uint64 {
			if t == nil {
				return 0
			}
			return of()
		}
	}
	a.counter("preismon_trace_spans_total", "Finished spans to be exported.", count(func() uint64 { return t.ended.Load() }))
	a.counter("preismon_trace_spans_sent_total", "Spans that the collector accepted.", count(func() uint64 { return t.exporter.Sent() }))
	a.counter("preismon_trace_export_failures_total", "Batches of spans that the collector did not accept.", count(func() uint64 { return t.exporter.Failed() }))
}

// counting counts spans on their way to the exporter, whose queue silently drops
// them when it is full.
type counting struct{ ended *atomic.Uint64 }

func (counting) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c counting) OnEnd(sdktrace.ReadOnlySpan)                   { c.ended.Add(1) }
func (counting) Shutdown(context.Context) error                  { return nil }
func (counting) ForceFlush(context.Context) error                { return nil }

// linkedSampler keeps a consumer's trace if one of its messages belongs to a
// trace that is kept, and otherwise leaves the decision to the embedded sampler.
// Only publishers can cause that; links of requests do not count.
type linkedSampler struct{ sdktrace.Sampler }

func (s linkedSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if p.Kind == trace.SpanKindConsumer {
		for _, l := range p.Links {
			if l.SpanContext.IsSampled() {
				return sdktrace.AlwaysSample().ShouldSample(p)
			}
		}
	}
	return s.Sampler.ShouldSample(p)
}
