package main

import (
	"context"
	"errors"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"

	"github.com/prometheus/client_golang/prometheus"
)

// projectorMetrics are those that are counted as things happen; the others are
// read when they are scraped. deploy/metrics.md explains all of them.
type projectorMetrics struct {
	seconds, rows *prometheus.HistogramVec
	failures      *prometheus.CounterVec
	audits        *prometheus.CounterVec
}

func newProjectorMetrics() *projectorMetrics {
	return &projectorMetrics{
		seconds:  histogramVec("preismon_projector_insert_seconds", "Duration of a successful insert into a table.", prometheus.ExponentialBuckets(0.005, 2, 14), "table"),
		rows:     histogramVec("preismon_projector_insert_rows", "Rows per insert into a table.", prometheus.ExponentialBuckets(1, 8, 8), "table"),
		failures: counterVec("preismon_projector_insert_failures_total", "Inserts into a table that may or may not have succeeded.", "table"),
		audits:   counterVec("preismon_audits_total", "Audits that the leader ran, by result: clean, found, failed.", "result"),
	}
}

func (m *projectorMetrics) inserted(i projector.Insert) {
	if i.Err != nil {
		m.failures.WithLabelValues(i.Table).Inc()
		return
	}
	m.seconds.WithLabelValues(i.Table).Observe(i.Took.Seconds())
	m.rows.WithLabelValues(i.Table).Observe(float64(i.Rows))
}

// progress and stats are zero while standing by.
func (p *projection) progress() (pr ingest.Progress) {
	if l := p.led.Load(); l != nil {
		pr = l.consumer.Progress()
	}
	return pr
}

func (p *projection) stats() (st projector.Stats) {
	if l := p.led.Load(); l != nil {
		st = l.projector.Stats()
	}
	return st
}

// observe publishes what the role does.
func (p *projection) observe(a *admin) {
	m := p.metrics
	a.registry.MustRegister(m.seconds, m.rows, m.failures, m.audits)
	for _, table := range []string{"observations", "observations_by_mandate", "latest_observations"} {
		m.failures.WithLabelValues(table)
		m.seconds.WithLabelValues(table)
		m.rows.WithLabelValues(table)
	}
	for _, result := range []string{auditClean, auditFound, auditFailed} {
		m.audits.WithLabelValues(result)
	}
	a.gauge("preismon_projector_leader", "1 while this process leads its partition.", func() float64 { return truth(p.led.Load() != nil) })
	a.gauge("preismon_projector_partition", "The partition that this process leads or stands by for.", func() float64 { return float64(p.share.Partition) })
	a.gauge("preismon_projector_partitions", "The total number of partitions.", func() float64 { return float64(p.share.Partitions) })
	leading := func(name, help string, of func(*led) float64) {
		a.sometimes(name, help, func() (float64, bool) {
			l := p.led.Load()
			if l == nil { // only the leader knows whether something waits, and there may be none
				return 0, false
			}
			return of(l), true
		})
	}
	leading("preismon_projector_lag_messages", "Messages of OBSERVATIONS not applied yet; exposed only while this process leads.", func(l *led) float64 { return float64(lag(l.consumer.Progress().Observations)) })
	leading("preismon_projector_lag_seconds", "Time since the last applied message was stored in OBSERVATIONS; 0 without lag. Exposed only while this process leads.", behind)
	leading("preismon_projector_catalog_lag_messages", "Messages of CATALOG not applied yet; exposed only while this process leads.", func(l *led) float64 { return float64(lag(l.consumer.Progress().Catalog)) })
	a.counter("preismon_projector_batches_total", "Batches applied, from both streams.", func() uint64 { return p.progress().Batches })
	a.counter("preismon_projector_events_total", "Events applied.", func() uint64 { return p.progress().Events })
	a.counter("preismon_projector_passed_messages_total", "Messages of OBSERVATIONS skipped because they belong to other partitions.", func() uint64 { return p.progress().Passed })
	a.counter("preismon_projector_rows_total", "Rows written to observations.", func() uint64 { return p.stats().Rows })
	a.counter("preismon_projector_fanned_rows_total", "Rows written to observations_by_mandate, backfills excluded.", func() uint64 { return p.stats().FannedRows })
	a.counter("preismon_projector_dead_letters_total", "Messages moved to the dead letters.", func() uint64 { return p.progress().Poison })
	a.counter("preismon_projector_retries_total", "Retries of batches and of dead letters.", func() uint64 { return p.progress().Retries })
	a.counter("preismon_projector_redelivered_total", "Messages dropped because they had already been received.", func() uint64 { return p.progress().Redelivered })
	for name, of := range map[string]func(ingest.Progress) ingest.StreamProgress{
		event.StreamCatalog:      func(pr ingest.Progress) ingest.StreamProgress { return pr.Catalog },
		event.StreamObservations: func(pr ingest.Progress) ingest.StreamProgress { return pr.Observations },
	} {
		a.gauge("preismon_stream_messages", "Messages in the stream.", func() float64 { return float64(of(p.progress()).Messages) }, "stream", name)
		a.gauge("preismon_stream_bytes", "Bytes in the stream.", func() float64 { return float64(of(p.progress()).Bytes) }, "stream", name)
	}
	a.counter("preismon_projector_restarts_total", "Times a stream was reopened.", func() uint64 { return p.progress().Restarts })
	a.counter("preismon_projector_repairs_total", "Batches that were compared with the tables before they were written, because an earlier write may have succeeded.", func() uint64 { return p.stats().Repairs })
	a.counter("preismon_projector_repaired_rows_total", "Missing rows that repairs found and wrote.", func() uint64 { return p.stats().RepairedRows })
	a.counter("preismon_projector_expired_rows_total", "Rows not written because their captures were already older than the retention period when they arrived.", func() uint64 { return p.stats().ExpiredRows })
	a.gauge("preismon_projector_floor_timestamp_seconds", "Capture time from which rows are kept; 0: all rows are kept.", func() float64 { return unixSeconds(p.stats().Floor) })
	a.counter("preismon_projector_duplicate_events_total", "Events dropped because an event with the same id had already been ingested.", func() uint64 { return p.stats().DuplicateEvents })
	a.counter("preismon_projector_killed_statements_total", "Running write statements that were killed because their outcome was unknown.", func() uint64 { return p.stats().Killed })
	a.counter("preismon_projector_replayed_events_total", "Events skipped because they are at or below the checkpoint.", func() uint64 { return p.stats().ReplayedEvents })
	a.counter("preismon_projector_failures_total", "Batches and maintenance steps that failed and are retried.", func() uint64 { return p.stats().Failures })
	a.counter("preismon_projector_catalog_records_total", "Catalogue records written.", func() uint64 { return p.stats().CatalogRecords })
	a.counter("preismon_projector_scopes_total", "Scopes of mandates published, counting each new version.", func() uint64 { return p.stats().ScopeVersions })
	a.counter("preismon_projector_backfills_total", "Statements that copied rows to mandates that could not see them before.", func() uint64 { return p.stats().Backfills })
	a.gauge("preismon_projector_mandates", "Mandates that have a scope.", func() float64 { return float64(p.stats().Mandates) })
	a.gauge("preismon_projector_scope_pairs", "Pairs in the scopes in force, summed over all mandates.", func() float64 { return float64(p.stats().ScopePairs) })
	a.gauge("preismon_projector_pending_deletions", "Mandates with rows of revoked pairs that are still to be deleted.", func() float64 { return float64(p.stats().PendingDeletions) })
	a.gauge("preismon_projector_waiting_grants", "Mandates with granted pairs that do not take effect until the deletion of revoked rows has finished.", func() float64 { return float64(p.stats().WaitingGrants) })
	a.gauge("preismon_audit_findings", "Number of findings of the last completed audit; 0: no findings, or no audit yet.", func() float64 { return float64(len(p.lastAudit().Findings)) })
	a.gauge("preismon_audit_timestamp_seconds", "Start time of the last completed audit; 0: none yet.", func() float64 { return unixSeconds(p.lastAudit().At) })
	a.gauge("preismon_audit_duration_seconds", "Duration of the last completed audit.", func() float64 { return p.lastAudit().Seconds })
	a.gauge("preismon_audit_dead_letters", "Sequences of OBSERVATIONS that the last completed audit found in the dead letters.", func() float64 { return float64(p.lastAudit().DeadLetters) })
	a.gauge("preismon_projector_proof_findings", "Tables whose content differed from what had been applied when this process became the leader; 0: none, or not compared yet.", func() float64 { return float64(len(p.lastProof().Findings)) })
	a.gauge("preismon_projector_proof_timestamp_seconds", "When the tables were last compared with what had been applied; 0: not yet.", func() float64 { return unixSeconds(p.lastProof().At) })
	a.ready("nats", func(context.Context) error {
		if !p.bus.conn.IsConnected() {
			return errors.New("not connected")
		}
		return nil
	})
	// Also while standing by: a wrong password or partition is noticed before it leads.
	a.ready("tables", func(ctx context.Context) error {
		return projector.CheckTables(ctx, p.probe, p.share.Partition, p.share.Partitions)
	})
	a.about("projector", p.about)
}

// behind returns the lag in seconds. A leader that has not applied anything yet
// is behind at least since it began to lead.
func behind(l *led) float64 {
	at := l.consumer.Progress().Observations
	if lag(at) == 0 {
		return 0
	}
	since := at.Stored
	switch {
	case at.Last <= at.Applied && !at.Heard.IsZero(): // no leader of the stream reports whether there is more
		since = at.Heard
	case since.IsZero():
		since = l.since
	}
	return max(0, time.Since(since).Seconds())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unixSeconds returns 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// unheard is how long the end of a stream counts as known without a new report.
const unheard = 5 * time.Second

// lag returns how many messages are not applied yet, as far as the leader knows:
// at least one while no leader of the stream reports that there are none.
func lag(s ingest.StreamProgress) uint64 {
	if s.Last <= s.Applied && time.Since(s.Heard) > unheard {
		return 1
	}
	return s.Last - min(s.Last, s.Applied)
}

// about is what /readyz reports about the role in addition to readiness: none of
// it makes a process unready, because no other process would do better.
func (p *projection) about() any {
	pr, st := p.progress(), p.stats()
	out := map[string]any{
		"partition": p.share.Partition, "partitions": p.share.Partitions,
		"leader": false, "dead_letters": pr.Poison, "repairs": st.Repairs, "repaired_rows": st.RepairedRows,
	}
	if p.led.Load() != nil {
		out["leader"], out["lag_messages"], out["catalog_lag_messages"] = true, lag(pr.Observations), lag(pr.Catalog)
	}
	if last := p.audited.Load(); last != nil {
		audit := map[string]any{"result": last.result, "at": last.at.UTC().Format(time.RFC3339)}
		if last.err != nil {
			audit["error"] = last.err.Error()
		}
		if findings := p.lastAudit().Findings; len(findings) > 0 {
			audit["findings"] = texts(findings)
		}
		out["audit"] = audit
	}
	if last := p.lastProof(); len(last.Findings) > 0 {
		out["proof"] = map[string]any{"at": last.At.UTC().Format(time.RFC3339), "findings": texts(last.Findings)}
	}
	return out
}

func texts(findings []projector.Finding) []string {
	out := make([]string, 0, len(findings))
	for _, f := range findings {
		out = append(out, f.Text)
	}
	return out
}
