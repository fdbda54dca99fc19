package prometheus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// scraped are the labels that Prometheus adds.
var scraped = []string{"job", "instance"}

// check returns what is wrong with an expression: that it does not parse, uses
// a metric or a label that no process exposes, takes a rate of a gauge, or uses
// a counter without a rate.
func check(known map[string]metric, text string) (faults []string) {
	text = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(text)
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var labels []string // of all metrics in the expression
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, ok := known[s.Name]
		if !ok {
			fault("no process exposes %s", s.Name)
			return nil
		}
		labels = append(append(labels, m.labels...), scraped...)
		for _, matcher := range s.LabelMatchers {
			if matcher.Name != "__name__" && !slices.Contains(m.labels, matcher.Name) && !slices.Contains(scraped, matcher.Name) {
				fault("%s has no label %s", s.Name, matcher.Name)
			}
		}
		rated := slices.ContainsFunc(path, func(n parser.Node) bool {
			c, ok := n.(*parser.Call)
			return ok && (c.Func.Name == "rate" || c.Func.Name == "increase")
		})
		if gauge := m.kind == "gauge"; gauge == rated {
			fault("%s is a %s: rate %v", s.Name, m.kind, rated)
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok && a.Op == parser.COUNT_VALUES {
			labels = append(labels, a.Param.(*parser.StringLiteral).Val) // the label that it creates
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !slices.Contains(labels, l) {
					fault("nothing in it has the label %s", l)
				}
			}
		}
		if c, ok := n.(*parser.Call); ok && c.Func.Name == "histogram_quantile" {
			if by, ok := c.Args[1].(*parser.AggregateExpr); !ok || !slices.Contains(by.Grouping, "le") {
				fault("a quantile without le")
			}
		}
		return nil
	})
	return faults
}

// TestCheck: the checks above find the faults that they are for.
func TestCheck(t *testing.T) {
	t.Parallel()
	known := documented(t)
	for text, want := range map[string]string{
		"sum(preismon_projector_leader)":                               "",
		"sum by (le) (rate(preismon_http_request_seconds_bucket[5m]))": "",
		"sum(": "parse error",
		`max by (of) (count_values("of", preismon_projector_leader))`:                  "",
		"preismon_projector_leeder":                                                    "no process exposes",
		`preismon_stream_bytes{topic="a"}`:                                             "has no label topic",
		"rate(preismon_projector_leader[5m])":                                          "is a gauge",
		"preismon_projector_rows_total":                                                "is a counter",
		"sum by (code) (rate(preismon_http_requests_total[5m]))":                       "the label code",
		"histogram_quantile(0.9, sum(rate(preismon_http_request_seconds_bucket[5m])))": "without le",
	} {
		got := strings.Join(check(known, text), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
