package prometheus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is one value; our histograms are buckets.
type sample struct {
	ms    int64
	value float64
}

func (s sample) T() int64                      { return s.ms }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

const step = 15 * time.Second

// began is the time of the first scrape.
var began = time.Unix(1_000_000, 0)

// seriesOf reads series in promtool's notation, one value per scrape.
func seriesOf(t *testing.T, lines string) *storage.MockQueryable {
	t.Helper()
	var all []storage.Series
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, values, err := parser.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for i, v := range values {
			samples = append(samples, sample{began.Add(time.Duration(i) * step).UnixMilli(), v.Value})
		}
		all = append(all, storage.NewListSeries(name, samples))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var found []storage.Series
			for _, s := range all {
				if matches(s.Labels(), matchers) {
					found = append(found, s)
				}
			}
			return &set{found, -1}
		},
	}}
}

// projectors returns the series of projectors: "1 0/2" leads partition 0 of 2,
// and "0 0/2" stands by for it.
func projectors(all ...string) string {
	var b strings.Builder
	for i, of := range all {
		leads, partition, partitions := of[:1], of[2:3], of[4:]
		for name, value := range map[string]string{"leader": leads, "partition": partition, "partitions": partitions} {
			fmt.Fprintf(&b, "preismon_projector_%s{instance=\"p%d\"} %sx60\n", name, i+1, value)
		}
	}
	return b.String()
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// set iterates over series one by one.
type set struct {
	all []storage.Series
	at  int
}

func (s *set) Next() bool         { s.at++; return s.at < len(s.all) }
func (s *set) At() storage.Series { return s.all[s.at] }
func (s *set) Err() error         { return nil }

func (s *set) Warnings() annotations.Annotations { return nil }

// TestAlertsFire: each rule fires in the situation that it is about, and not
// while all is well. A series has 61 scrapes, a quarter of an hour.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ fires, quiet string }{
		"PreismonDown": {
			`up{job="query",instance="q1"} 0x60`, `up{job="query",instance="q1"} 1x60`,
		},
		"PreismonNoLeader": {
			"", projectors("1 0/1", "0 0/1"),
		},
		"PreismonNoLeader of the second of two": {
			projectors("1 0/2", "1 0/2"),
			projectors("1 0/2", "1 1/2"),
		},
		"PreismonNoLeader of one beside two": {
			projectors("0 0/1", "1 0/2", "1 1/2"),
			projectors("1 0/1", "1 0/2", "1 1/2"),
		},
		"PreismonNoLeader of two beside one": {
			projectors("1 0/1", "1 0/2", "0 1/2"),
			projectors("1 0/1", "1 0/2", "1 1/2"),
		},
		"PreismonTwoLeaders": {
			projectors("1 1/2", "1 1/2"),
			projectors("1 0/2", "1 1/2", "0 1/2"),
		},
		"PreismonTwoLeaders of two numbers of partitions": {
			projectors("1 0/1", "1 1/2", "1 0/2", "1 0/2"),
			projectors("1 0/1", "1 0/2", "1 1/2"),
		},
		"PreismonLag": {`preismon_projector_lag_seconds 0+2x60`, `preismon_projector_lag_seconds 3x60`},
		"PreismonStalled": {
			`preismon_projector_lag_messages{instance="p1"} 7x60
			preismon_projector_batches_total{instance="p1"} 40x60
			preismon_projector_lag_messages{instance="p2"} 7x60
			preismon_projector_batches_total{instance="p2"} 40+1x60`,
			`preismon_projector_lag_messages{instance="p2"} 7x60
			preismon_projector_batches_total{instance="p2"} 40+1x60`,
		},
		"PreismonInsertsFail": {`preismon_projector_insert_failures_total{table="observations"} 0+1x60`, `preismon_projector_insert_failures_total{table="observations"} 1x60`},
		"PreismonDeadLetters": {`preismon_projector_dead_letters_total 0x50 1x9`, `preismon_projector_dead_letters_total 5x60`},
		"PreismonAuditFound":  {`preismon_audit_findings 2x60`, `preismon_audit_findings 0x60`},
		"PreismonProofFound": {
			`preismon_projector_proof_findings{instance="p1"} 0x60
			preismon_projector_leader{instance="p1"} 0x60
			preismon_projector_proof_findings{instance="p2"} 2x60
			preismon_projector_leader{instance="p2"} 1x60`,
			`preismon_projector_proof_findings{instance="p1"} 2x60
			preismon_projector_leader{instance="p1"} 0x60
			preismon_projector_proof_findings{instance="p2"} 0x60
			preismon_projector_leader{instance="p2"} 1x60`, // what a former leader found may be repaired by now
		},
		"PreismonAuditOld": {
			`preismon_audit_timestamp_seconds 980000x60`,
			`preismon_audit_timestamp_seconds{instance="p1"} 999000x60
			preismon_audit_timestamp_seconds{instance="p2"} 0x60`,
		},
		"PreismonErrors": {
			`preismon_http_requests_total{operation="a",status="200"} 0+50x60
			preismon_http_requests_total{operation="a",status="500"} 0+1x60`,
			`preismon_http_requests_total{operation="a",status="200"} 0+500x60
			preismon_http_requests_total{operation="a",status="400"} 0+500x60
			preismon_http_requests_total{operation="a",status="500"} 0+1x60`,
		},
		"PreismonSlowPages": {
			`preismon_http_request_seconds_bucket{operation="GET /v1/results",le="1"} 0+1x60
			preismon_http_request_seconds_bucket{operation="GET /v1/results",le="10"} 0+2x60
			preismon_http_request_seconds_bucket{operation="GET /v1/results",le="+Inf"} 0+2x60`,
			`preismon_http_request_seconds_bucket{operation="GET /v1/results",le="1"} 0+9x60
			preismon_http_request_seconds_bucket{operation="GET /v1/results",le="10"} 0+9x60
			preismon_http_request_seconds_bucket{operation="GET /v1/results/stream",le="+Inf"} 0+99x60
			preismon_http_request_seconds_bucket{operation="GET /v1/results",le="+Inf"} 0+9x60`,
		},
		"PreismonSlowTails": {
			`preismon_changes_tail_seconds_bucket{instance="q1",le="0.5"} 0+1x60
			preismon_changes_tail_seconds_bucket{instance="q1",le="3"} 0+2x60
			preismon_changes_tail_seconds_bucket{instance="q1",le="+Inf"} 0+2x60`,
			`preismon_changes_tail_seconds_bucket{instance="q1",le="0.5"} 0+9x60
			preismon_changes_tail_seconds_bucket{instance="q1",le="3"} 0+9x60
			preismon_changes_tail_seconds_bucket{instance="q1",le="+Inf"} 0+9x60`,
		},
		"PreismonOverBudget":     {`preismon_results_over_budget_total 0+1x60`, `preismon_results_over_budget_total 9x60`},
		"PreismonStatementsFail": {`preismon_store_statements_total{statement="results",result="failed"} 0x50 1x9`, `preismon_store_statements_total{statement="results",result="timeout"} 0+5x60`},
		"PreismonRevocationsUnknown": {
			`preismon_revocations_age_seconds{instance="q1"} 0+15x60`, `preismon_revocations_age_seconds{instance="q1"} 1x60`,
		},
		"PreismonCountsAlone": {`preismon_throttle_alone{instance="q1"} 1x60`, `preismon_throttle_alone{instance="q1"} 0x60`},
		"PreismonGuessing": {
			`preismon_logins_total{result="refused"} 0+10x60
			preismon_throttle_decisions_total{limit="login",decision="refused"} 0+10x60`,
			`preismon_logins_total{result="refused"} 0+1x60
			preismon_throttle_decisions_total{limit="reads",decision="refused"} 0+900x60
			preismon_throttle_decisions_total{limit="login",decision="refused"} 0x60`,
		},
		"PreismonCacheDiffers": {
			`preismon_remembered_checks_total{instance="q1",result="same"} 9x60
			preismon_remembered_checks_total{instance="q1",result="different"} 0x50 1x9`,
			`preismon_remembered_checks_total{instance="q1",result="same"} 0+9x60
			preismon_remembered_checks_total{instance="q1",result="different"} 0x60`,
		},
		"PreismonAlertsHeld": {
			`preismon_notify_held_seconds{instance="n1",target="desk"} 0x60
			preismon_notify_held_seconds{instance="n1",target="hook"} 0+15x60`,
			`preismon_notify_held_seconds{instance="n1",target="desk"} 0x60
			preismon_notify_held_seconds{instance="n1",target="hook"} 0+15x39 0x20`,
		},
		"PreismonArchive": {`preismon_archive_reads_total{result="away"} 0x50 2x9`, `preismon_archive_reads_total{result="found"} 0+5x60`},
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	at := began.Add(60 * step)
	for _, r := range alerts(t) {
		if _, ok := cases[r.Alert]; !ok {
			t.Errorf("%s: fires in no test", r.Alert)
		}
		for name, c := range cases {
			if alert, _, _ := strings.Cut(name, " "); alert != r.Alert {
				continue
			}
			delete(cases, name)
			for text, want := range map[string]bool{c.fires: true, c.quiet: false} {
				query, err := engine.NewInstantQuery(t.Context(), seriesOf(t, text), nil, r.Expr, at)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				result := query.Exec(t.Context())
				if v, err := result.Vector(); err != nil || len(v) > 0 != want {
					t.Errorf("%s: fires %v (%v, %v) on\n%s", name, len(v) > 0, v, err, text)
				}
				query.Close()
			}
		}
	}
	for name := range cases {
		t.Errorf("there is no rule %s", name)
	}
}
