package market_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/ingest/market"
)

// BenchmarkFortnight measures what the demo waits for: a fortnight at full
// size.
func BenchmarkFortnight(b *testing.B) {
	m := newMarket(b, market.Config{Seed: 1})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows = 0
		for e := range m.Observations(now.AddDate(0, 0, -14), now) {
			for _, o := range e.Data.(*contracts.Observations).Observations {
				rows += o.Rows()
			}
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSecond measures one second of Live.
func BenchmarkSecond(b *testing.B) {
	m := newMarket(b, market.Config{Seed: 1})
	at := now
	for b.Loop() {
		for range m.Observations(at, at.Add(time.Second)) {
		}
		for range m.LiveCaptures(at, at.Add(time.Second)) {
		}
		at = at.Add(time.Second)
	}
}
