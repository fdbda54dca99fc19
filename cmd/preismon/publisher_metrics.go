package main

import (
	"preismon/contracts/event"
	"preismon/ingest"

	"github.com/prometheus/client_golang/prometheus"
)

// publisherMetrics are those of every publisher. deploy/metrics.md explains
// them.
type publisherMetrics struct {
	events  *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newPublisherMetrics() *publisherMetrics {
	return &publisherMetrics{
		events:  counterVec("preismon_publisher_events_total", "Events by result: accepted, duplicate, failed.", "stream", "result"),
		seconds: histogramVec("preismon_publisher_ack_seconds", "Time from first sending an event to its acknowledgement, retries included.", prometheus.ExponentialBuckets(0.0005, 3, 12), "stream"),
	}
}

func (m *publisherMetrics) settled(s ingest.Settled) {
	result := "accepted"
	switch {
	case s.Err != nil:
		result = "failed"
	case s.Duplicate:
		result = "duplicate"
	}
	m.events.WithLabelValues(s.Stream, result).Inc()
	if s.Err == nil {
		m.seconds.WithLabelValues(s.Stream).Observe(s.Took.Seconds())
	}
}

// observe publishes what the publisher does; stats are the publisher's own.
func (m *publisherMetrics) observe(a *admin, stats func() ingest.Stats) {
	a.registry.MustRegister(m.events, m.seconds)
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		m.seconds.WithLabelValues(stream)
		for _, result := range []string{"accepted", "duplicate", "failed"} {
			m.events.WithLabelValues(stream, result)
		}
	}
	a.counter("preismon_publisher_retries_total", "Times an event was sent again.", func() uint64 { return stats().Retries })
	a.gauge("preismon_publisher_in_flight_events", "Events sent but not yet acknowledged.", func() float64 { return float64(stats().InFlight) })
}
