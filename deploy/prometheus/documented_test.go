package prometheus_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// metric is a row of the tables in deploy/metrics.md. A test of cmd/preismon
// compares those with what the processes expose.
type metric struct {
	kind   string
	labels []string
}

var (
	rowForm  = regexp.MustCompile("^\\| `(preismon_[a-z_]+)` \\| (gauge|counter|histogram)((?:, by)?(?:,? `[a-z]+`)*) \\|")
	nameForm = regexp.MustCompile("`([a-z]+)`")
)

const document = "../metrics.md"

// notified matches the names of the metrics of notify, which are described with
// it. A test of cmd/preismon compares them with what it exposes.
var notified = regexp.MustCompile("`(preismon_notify_[a-z_]+)`")

// documented reads the tables by the names of the series: a histogram has
// three; and the names of those of notify.
func documented(t *testing.T) map[string]metric {
	t.Helper()
	text := must.Get(os.ReadFile(document))(t)
	all := map[string]metric{
		"up": {kind: "gauge"}, "go_goroutines": {kind: "gauge"}, "go_memstats_heap_inuse_bytes": {kind: "gauge"}, "process_cpu_seconds_total": {kind: "counter"},
	}
	for line := range strings.Lines(string(text)) {
		found := rowForm.FindStringSubmatch(line)
		if found == nil {
			if strings.HasPrefix(line, "| `preismon_") {
				t.Errorf("not of the form of a metric: %s", line)
			}
			continue
		}
		m := metric{kind: found[2]}
		for _, l := range nameForm.FindAllStringSubmatch(found[3], -1) {
			m.labels = append(m.labels, l[1])
		}
		if m.kind != "histogram" {
			all[found[1]] = m
			continue
		}
		all[found[1]+"_sum"], all[found[1]+"_count"] = metric{"counter", m.labels}, metric{"counter", m.labels}
		all[found[1]+"_bucket"] = metric{"bucket", append([]string{"le"}, m.labels...)}
	}
	text = must.Get(os.ReadFile("../docs/how-to/be-told.md"))(t)
	for _, found := range notified.FindAllStringSubmatch(string(text), -1) {
		m := metric{"gauge", []string{"target"}}
		if strings.HasSuffix(found[1], "_total") {
			m.kind = "counter"
		}
		all[found[1]] = m
	}
	if len(all) < 60 {
		t.Fatalf("%d metrics are documented: the tables were not read", len(all))
	}
	return all
}

// anchors returns the alerts of the runbook as links name them.
func anchors(t *testing.T) map[string]bool {
	t.Helper()
	text := must.Get(os.ReadFile("../runbook/runbook.md"))(t)
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			all[strings.ToLower(strings.TrimSpace(title))] = true
		}
	}
	return all
}
