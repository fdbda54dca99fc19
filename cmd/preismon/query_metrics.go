package main

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"preismon/contracts/fault"
	"preismon/ingest/seqlock"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/auth"
	"preismon/query/cache"
	"preismon/query/mcp"
	"preismon/query/rest"
	"preismon/query/store"
	"preismon/query/wire"

	"github.com/prometheus/client_golang/prometheus"
)

// queryMetrics are those that are counted as things happen; the others are read
// when they are scraped. deploy/metrics.md explains all of them.
type queryMetrics struct {
	inFlight                                   prometheus.Gauge
	requests, bytes, broken, refused, tailEnds *prometheus.CounterVec
	slow                                       prometheus.Counter
	seconds                                    *prometheus.HistogramVec
	followed                                   prometheus.Histogram

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec
	grants      *prometheus.CounterVec

	statements, readRows, readBytes *prometheus.CounterVec
	statementSeconds                *prometheus.HistogramVec
}

func newQueryMetrics() *queryMetrics {
	buckets := prometheus.ExponentialBuckets(0.002, 2.5, 12)
	seconds := func(name, help, label string) *prometheus.HistogramVec {
		return histogramVec(name, help, buckets, label)
	}
	return &queryMetrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "preismon_http_requests_in_flight", Help: "Requests in progress, including streams."}),
		requests: counterVec("preismon_http_requests_total", "Completed requests; status 0: aborted before a status was sent.", "operation", "status"),
		seconds:  seconds("preismon_http_request_seconds", "Time from a request to the end of its response.", "operation"),
		bytes:    counterVec("preismon_http_response_bytes_total", "Bytes of responses, as sent.", "operation"),
		broken:   counterVec("preismon_http_broken_total", "Responses that were cut off: the client disconnected, or a stream failed.", "operation"),
		slow:     prometheus.NewCounter(prometheus.CounterOpts{Name: "preismon_http_slow_readers_total", Help: "Responses that were cut off because the client read too slowly."}),
		refused:  counterVec("preismon_http_refused_total", "Problem responses of the REST API, by code.", "code"),
		followed: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "preismon_changes_tail_seconds", Help: "Time from when the node learned that rows are visible until it had written them to a tail.", Buckets: buckets}),
		tailEnds: counterVec("preismon_changes_tail_ends_total", "Tails that ended, by the reason in their last line; broken: without one.", "reason"),

		calls:       counterVec("preismon_mcp_calls_total", "Tool calls by agents; the result is ok, the problem code, or cancelled.", "tool", "result"),
		callSeconds: seconds("preismon_mcp_call_seconds", "Duration of a tool call.", "tool"),
		grants:      counterVec("preismon_oauth_grants_total", "Token requests by agents; the result is ok, or the OAuth error.", "grant", "result"),

		statements:       counterVec("preismon_store_statements_total", "Statements sent to ClickHouse, by result.", "statement", "result"),
		statementSeconds: seconds("preismon_store_statement_seconds", "Duration of a statement, including the time it waits for its rows to be consumed.", "statement"),
		readRows:         counterVec("preismon_store_read_rows_total", "Rows that ClickHouse read for statements.", "statement"),
		readBytes:        counterVec("preismon_store_read_bytes_total", "Bytes that ClickHouse read for statements.", "statement"),
	}
}

// serving is called when a request begins; its result is called when it ends.
func (m *queryMetrics) serving() func(rest.Served) {
	m.inFlight.Inc()
	return func(s rest.Served) {
		m.inFlight.Dec()
		m.requests.WithLabelValues(s.Operation, strconv.Itoa(s.Status)).Inc()
		m.seconds.WithLabelValues(s.Operation).Observe(s.Took.Seconds())
		m.bytes.WithLabelValues(s.Operation).Add(float64(s.Bytes))
		broken := m.broken.WithLabelValues(s.Operation) // a rate needs a 0 before the first
		if s.Broken {
			broken.Inc()
		}
		if s.Slow {
			m.slow.Inc()
		}
		if s.Code != "" {
			m.refused.WithLabelValues(s.Code).Inc()
		}
	}
}

func (m *queryMetrics) fed(took time.Duration) { m.followed.Observe(took.Seconds()) }

func (m *queryMetrics) tailEnded(reason string) { m.tailEnds.WithLabelValues(reason).Inc() }

func (m *queryMetrics) called(c mcp.Called) {
	m.calls.WithLabelValues(c.Tool, cmp.Or(c.Code, resultOK)).Inc()
	m.callSeconds.WithLabelValues(c.Tool).Observe(c.Took.Seconds())
}

func (m *queryMetrics) granted(grant, failure string) {
	m.grants.WithLabelValues(grant, cmp.Or(failure, resultOK)).Inc()
}

// resultOK is the label of a success.
const resultOK = "ok"

// Results of statements.
var statementResults = []string{resultOK, "not_found", "timeout", "cancelled", "unavailable", "failed"}

func (m *queryMetrics) statementEnded(a store.StatementEnded) {
	m.statements.WithLabelValues(a.Statement, statementResult(a.Err)).Inc()
	m.statementSeconds.WithLabelValues(a.Statement).Observe(a.Took.Seconds())
	m.readRows.WithLabelValues(a.Statement).Add(float64(a.Rows))
	m.readBytes.WithLabelValues(a.Statement).Add(float64(a.Bytes))
}

func statementResult(err error) string {
	if err == nil {
		return resultOK
	}
	switch fault.KindOf(err) {
	case fault.NotFound:
		return "not_found"
	case fault.Timeout:
		return "timeout"
	case fault.Unavailable:
		return "unavailable"
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	return "failed"
}

// queried are the parts of the query role that metrics are read from.
type queried struct {
	service     *query.Service
	store       *store.Store
	checkpoints *seqlock.Reader
	throttle    *auth.Throttle
	authority   *auth.Authority
	revoked     *auth.RevokedTokens
}

// observe publishes what the role does.
func (m *queryMetrics) observe(a *admin, q queried) {
	a.registry.MustRegister(m.inFlight, m.requests, m.seconds, m.bytes, m.broken, m.slow, m.refused, m.followed, m.tailEnds, m.calls, m.callSeconds, m.grants,
		m.statements, m.statementSeconds, m.readRows, m.readBytes)
	for _, code := range wire.Codes() { // a rate needs a 0 before the first
		m.refused.WithLabelValues(code)
	}
	for _, reason := range rest.TailEnds() {
		m.tailEnds.WithLabelValues(reason)
	}
	for _, statement := range store.Statements() {
		for _, result := range statementResults {
			m.statements.WithLabelValues(statement, result)
		}
	}

	for _, tool := range mcp.ToolNames() {
		m.calls.WithLabelValues(tool, resultOK)
		m.callSeconds.WithLabelValues(tool)
	}
	for _, grant := range []string{"authorization_code", "refresh_token", "other"} {
		m.grants.WithLabelValues(grant, resultOK)
	}

	const pages = "preismon_results_pages_total"
	for ending, label := range map[query.Ending]string{
		query.NothingMore: "complete", query.AtLimit: "limit", query.AtSoftDeadline: "soft_deadline", query.AtAnswerBudget: "answer_budget",
	} {
		a.counter(pages, "Pages of results, by the reason they ended.", func() uint64 { return q.service.Stats().Pages[ending] }, "ending", label)
	}
	const rows = "Rows of results sent, and alerts."
	a.counter("preismon_results_rows_total", rows, func() uint64 { return q.service.Stats().PageRows }, "form", "page")
	a.counter("preismon_results_rows_total", rows, func() uint64 { return q.service.Stats().StreamRows }, "form", "stream")
	a.counter("preismon_stream_remembered_rows_total", "Rows of streams that were sent from remembered text.", func() uint64 { return q.service.Stats().Replayed })
	a.counter("preismon_results_rows_total", rows, func() uint64 { return q.service.Stats().FeedRows }, "form", "changes")
	a.counter("preismon_results_rows_total", rows, func() uint64 { return q.service.Stats().Alerts }, "form", "alerts")
	a.gauge("preismon_changes_tails", "Open tails: responses that stay open and send rows as they become visible.", func() float64 { return float64(q.service.Stats().Tails) })
	a.counter("preismon_results_streams_total", "Streams of results that were read to the end.", func() uint64 { return q.service.Stats().Streams })
	a.counter("preismon_results_over_budget_total", "Pages and streams of results that failed because they exceeded the hard budget.", func() uint64 { return q.service.Stats().OverBudget })
	const archived = "Reads of archived files, by result."
	a.counter("preismon_archive_reads_total", archived, func() uint64 { return q.service.Stats().Found }, "result", "found")
	a.counter("preismon_archive_reads_total", archived, func() uint64 { return q.service.Stats().Missing }, "result", "missing")
	a.counter("preismon_archive_reads_total", archived, func() uint64 { return q.service.Stats().Away }, "result", "away")
	a.counter("preismon_archive_reads_total", archived, func() uint64 { return q.service.Stats().Damaged }, "result", "damaged")

	observeAdmission(a, q.service.Admission().Stats)
	const mandates = "Account reads, by whether the account's mandate was cached."
	a.counter("preismon_store_mandate_cache_total", mandates, func() uint64 { return q.store.Stats().Mandate.Right }, "result", "hit")
	a.counter("preismon_store_mandate_cache_total", mandates, func() uint64 { return q.store.Stats().Mandate.Wrong }, "result", "stale")
	a.counter("preismon_store_mandate_cache_total", mandates, func() uint64 { return q.store.Stats().Mandate.Unknown }, "result", "miss")

	for name, of := range map[string]func() cache.Stats{
		"answers":  func() cache.Stats { return q.service.Stats().Remembered },
		"streams":  func() cache.Stats { return q.service.Stats().RememberedStreams },
		"disk":     func() cache.Stats { return q.service.Stats().StreamsOnDisk },
		"accounts": func() cache.Stats { return q.store.Stats().Accounts },
	} {
		const lookups = "Lookups in the caches of this node."
		a.counter("preismon_remembered_total", lookups, func() uint64 { return of().Hits }, "cache", name, "result", "hit")
		a.counter("preismon_remembered_total", lookups, func() uint64 { return of().Misses }, "cache", name, "result", "miss")
		a.counter("preismon_remembered_evictions_total", "Cache entries evicted to make room for others.", func() uint64 { return of().Evictions }, "cache", name)
		a.gauge("preismon_remembered_bytes", "Approximate size of the cache.", func() float64 { return float64(of().Bytes) }, "cache", name)
	}
	const asked = "Times NATS was asked whether checkpoints had been written, by its answer. Only the answer written can spare a query to ClickHouse."
	a.counter("preismon_checkpoints_asked_total", asked, func() uint64 { return q.checkpoints.Stats().Answered }, "answer", "written")
	a.counter("preismon_checkpoints_asked_total", asked, func() uint64 { return q.checkpoints.Stats().Writing }, "answer", "writing")
	a.counter("preismon_checkpoints_asked_total", asked, func() uint64 { return q.checkpoints.Stats().Away }, "answer", "away")
	const checks = "Cached answers that were compared with a fresh one."
	a.counter("preismon_remembered_checks_total", checks, func() uint64 { s := q.service.Stats(); return s.Checked - s.Differences }, "result", "same")
	a.counter("preismon_remembered_checks_total", checks, func() uint64 { return q.service.Stats().Differences }, "result", "different")

	for limit := range q.throttle.Stats().ByLimit {
		const decisions = "Requests allowed or refused, by rate limit."
		a.counter("preismon_throttle_decisions_total", decisions, func() uint64 { return q.throttle.Stats().ByLimit[limit].Allowed }, "limit", limit, "decision", "allowed")
		a.counter("preismon_throttle_decisions_total", decisions, func() uint64 { return q.throttle.Stats().ByLimit[limit].Refused }, "limit", limit, "decision", "refused")
	}
	a.gauge("preismon_throttle_alone", "1 while this node counts requests without the other nodes.", func() float64 { return truth(q.throttle.Stats().Alone) })
	a.gauge("preismon_heavy_reads", "Results reads and downloads running on this node.", func() float64 { return float64(q.throttle.Stats().Heavy) })
	const logins = "Login attempts on all surfaces."
	a.counter("preismon_logins_total", logins, func() uint64 { return q.authority.LoginStats().Accepted }, "result", "accepted")
	a.counter("preismon_logins_total", logins, func() uint64 { return q.authority.LoginStats().Refused }, "result", "refused")
	a.counter("preismon_logins_total", logins, func() uint64 { return q.authority.LoginStats().Throttled }, "result", "throttled")
	a.counter("preismon_logins_total", logins, func() uint64 { return q.authority.LoginStats().Failed }, "result", "failed")
	a.counter("preismon_requests_cut_total", "Requests in progress that were ended because their token or account was no longer valid, or because its validity could not be verified.", q.authority.Cut)
	a.gauge("preismon_revoked_tokens", "Revoked token ids that this node holds.", func() float64 { ids, _ := q.revoked.Stats(); return float64(ids) })
	a.gauge("preismon_revocations_age_seconds", "Time since this node last verified that it knows every revocation.", func() float64 {
		_, age := q.revoked.Stats()
		return max(0, age.Round(time.Millisecond).Seconds())
	})
}

// observeAdmission publishes what reads consume.
func observeAdmission(a *admin, stats func() admission.Stats) {
	a.gauge("preismon_store_slices", "Slices of streams being read from ClickHouse.", func() float64 { return float64(stats().LongRows) })
	a.gauge("preismon_read_memory_bytes", "Memory held by reads in progress.", func() float64 { return float64(stats().Held) })
	a.gauge("preismon_read_memory_limit_bytes", "Limit of the memory held by reads in progress.", func() float64 { return float64(stats().Memory) })
	const reads = "Reads and agents' calls in progress."
	a.gauge("preismon_reads", reads, func() float64 { return float64(stats().Streams) }, "kind", "stream")
	a.gauge("preismon_reads", reads, func() float64 { return float64(stats().Reads - stats().Streams) }, "kind", "other")
	const waiting = "Reads waiting to be admitted."
	a.gauge("preismon_reads_waiting", waiting, func() float64 { return float64(stats().Waiting) }, "for", "memory")
	a.gauge("preismon_reads_waiting", waiting, func() float64 { return float64(stats().StatementsWaiting) }, "for", "statement")
	const refused = "Reads refused for lack of capacity, by whether the share of the account or of the node was used up."
	a.counter("preismon_reads_refused_total", refused, func() uint64 { return stats().RefusedAccount }, "share", "account")
	a.counter("preismon_reads_refused_total", refused, func() uint64 { return stats().RefusedNode }, "share", "node")
	a.counter("preismon_reads_reclaimed_total", "Slices whose memory was reclaimed because their clients were not reading.", func() uint64 { return stats().Reclaimed })
}
