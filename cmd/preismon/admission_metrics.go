package main

import "preismon/query/admission"

// observeAdmission publishes what reads consume.
func observeAdmission(a *admin, stats func() admission.Stats) {
	gauge := func(name, help string, of func(admission.Stats) int64, labels ...string) {
		a.gauge(name, help, func() float64 { return float64(of(stats())) }, labels...)
	}
	counter := func(name, help string, of func(admission.Stats) uint64, labels ...string) {
		a.counter(name, help, func() uint64 { return of(stats()) }, labels...)
	}
	gauge("preismon_store_slices", "Slices of streams being read from ClickHouse.", func(s admission.Stats) int64 { return int64(s.LongRows) })
	gauge("preismon_read_memory_bytes", "Memory held by reads in progress.", func(s admission.Stats) int64 { return s.Held })
	gauge("preismon_read_memory_limit_bytes", "Limit of the memory held by reads in progress.", func(s admission.Stats) int64 { return s.Memory })
	const reads = "Reads and agents' calls in progress."
	gauge("preismon_reads", reads, func(s admission.Stats) int64 { return int64(s.Streams) }, "kind", "stream")
	gauge("preismon_reads", reads, func(s admission.Stats) int64 { return int64(s.Reads - s.Streams) }, "kind", "other")
	const waiting = "Reads waiting to be admitted."
	gauge("preismon_reads_waiting", waiting, func(s admission.Stats) int64 { return int64(s.Waiting) }, "for", "memory")
	gauge("preismon_reads_waiting", waiting, func(s admission.Stats) int64 { return int64(s.StatementsWaiting) }, "for", "statement")
	const refused = "Reads refused for lack of capacity, by whether the share of the account or of the node was used up."
	counter("preismon_reads_refused_total", refused, func(s admission.Stats) uint64 { return s.RefusedAccount }, "share", "account")
	counter("preismon_reads_refused_total", refused, func(s admission.Stats) uint64 { return s.RefusedNode }, "share", "node")
	counter("preismon_reads_reclaimed_total", "Slices whose memory was reclaimed because their clients were not reading.", func(s admission.Stats) uint64 { return s.Reclaimed })
}
