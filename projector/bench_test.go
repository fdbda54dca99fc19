package projector_test

import (
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// benchBatch returns n events of 50 captures with one or two offers each, of
// 20,000 items at 20 sites: about 75 rows per event.
func benchBatch(w *world, n int) *event.Batch {
	b := &event.Batch{Stream: event.StreamObservations, Epoch: epoch, First: w.seq + 1, Last: w.seq + uint64(n)}
	for range n {
		w.seq++
		site := w.rnd.IntN(20)
		o := &contracts.Observations{Site: siteKey(site)}
		for range 50 {
			item := 1 + w.rnd.IntN(20_000)
			obs := contracts.Observation{
				ItemID: contracts.ItemID(item), Outcome: contracts.PriceObserved,
				CapturedAt: start.Add(time.Duration(w.seq) * 50 * time.Millisecond),
			}
			for range 1 + w.rnd.IntN(2) {
				price, ship := int64(500+w.rnd.IntN(10_000)), int64(499)
				obs.Offers = append(obs.Offers, contracts.Offer{
					Merchant: fmt.Sprint("merchant ", w.rnd.IntN(200)), Price: &price, Shipping: &ship, CurrencyCode: "EUR",
					IsBuyBox: contracts.FlagTrue, Rating: "4.5", Manufacturer: fmt.Sprint("maker ", item%300),
					Title: fmt.Sprintf("Product %d of a usual length of title, 500 ml", item), DeliveryText: "1 to 3 days",
					URL: fmt.Sprintf("https://www.shop-%d.example/product/%d", site, item),
				})
			}
			o.Observations = append(o.Observations, obs)
		}
		b.Messages = append(b.Messages, event.Message{Seq: w.seq, Event: &event.Event{ID: newID(w.rnd), Kind: event.KindObservations, ProducedAt: start, Data: o}})
	}
	return b
}

func benchCatalog(w *world, mandates int) {
	var records []event.Payload
	for m := range mandates {
		var items, sites []int
		for i := range 20_000 {
			items = append(items, 1+i)
		}
		for s := range 20 {
			sites = append(sites, s)
		}
		records = append(records, mandate(uint64(m+1), 50_000), order(uint64(m+1), 1, true, 0, items, sites))
	}
	w.apply(w.catalog(records...))
}

// BenchmarkApplyObservations writes batches of 20,000 and 100,000 rows, seen
// by one and by three mandates.
func BenchmarkApplyObservations(b *testing.B) {
	for _, n := range []int{267, 1333} {
		for _, mandates := range []int{1, 3} {
			b.Run(fmt.Sprintf("rows=%d/mandates=%d", n*75, mandates), func(b *testing.B) {
				w := newWorld(b)
				benchCatalog(w, mandates)
				batches := make([]*event.Batch, 0, b.N)
				for range b.N {
					batches = append(batches, benchBatch(w, n))
				}
				before := w.p.Stats()
				b.ReportAllocs()
				b.ResetTimer()
				for _, batch := range batches {
					w.apply(batch)
				}
				b.StopTimer()
				after := w.p.Stats()
				b.ReportMetric(float64(after.Rows-before.Rows)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64(after.Rows-before.Rows+after.FannedRows-before.FannedRows)/b.Elapsed().Seconds(), "written/s")
				w.logTables(b)
			})
		}
	}
}

// logTables logs what the server spent on each table, according to its query
// log.
func (w *world) logTables(b *testing.B) {
	if _, err := w.db.Exec("SYSTEM FLUSH LOGS"); err != nil {
		b.Log(err)
		return
	}
	w.t = b
	w.eachRow(`SELECT extract(query_id, '^p\\d+-\\d+-([a-z_]+)-') AS what, count(), sum(written_rows), round(avg(query_duration_ms), 1), round(avg(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1000, 1)
		FROM system.query_log WHERE current_database = '`+w.server.Database+`' AND type = 'QueryFinish' AND what IN ('observations', 'observations_by_mandate', 'latest_observations', 'ingested_events', 'checkpoints') GROUP BY what ORDER BY what`, 5,
		func(v []any) { b.Log(v...) })
	w.eachRow(`SELECT 'known_events', count(), toUInt64(0), round(avg(query_duration_ms), 1), round(avg(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1000, 1)
		FROM system.query_log WHERE current_database = '`+w.server.Database+`' AND type = 'QueryFinish' AND query LIKE '%FROM ids%' GROUP BY 1`, 5,
		func(v []any) { b.Log(v...) })
}
