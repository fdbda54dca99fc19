package rest_test

import (
	"net/http"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkTraces measures what traces cost a small request: off, on with none
// kept, on with all kept.
func BenchmarkTraces(b *testing.B) {
	for name, sampler := range map[string]sdktrace.Sampler{"off": nil, "none": sdktrace.NeverSample(), "all": sdktrace.AlwaysSample()} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, func(s *settings) {
				s.unchecked = true
				if sampler != nil {
					s.tracer = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)).Tracer("")
				}
			})
			r := s.request(http.MethodGet, "/healthz", "", nil)
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				s.Config.Handler.ServeHTTP(w, r)
			}
		})
	}
}

// sink accepts an answer and discards it.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}
