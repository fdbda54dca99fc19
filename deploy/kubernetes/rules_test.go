package kubernetes_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the rules of the Prometheus operator")

const rulesFile = "components/monitoring/rules.yaml"

// TestRules: the operator receives the rules in deploy/prometheus, and each
// links to the runbook at the address of the overlay's query service.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("../prometheus/alerts.yml")
	must(t, err)
	var want prometheusRule
	want.APIVersion, want.Kind, want.Name = "monitoring.coreos.com/v1", "PrometheusRule", "preismon"
	must(t, yaml.UnmarshalStrict(text, &want.Spec))
	if *update {
		text, err := yaml.Marshal(want)
		must(t, err)
		text = append([]byte("# Made from deploy/prometheus/alerts.yml, whose comments it lacks.\n"), text...)
		must(t, os.WriteFile(rulesFile, text, 0o644))
	}
	text, err = os.ReadFile(rulesFile)
	must(t, err)
	var got prometheusRule
	must(t, yaml.UnmarshalStrict(text, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is stale; -update writes it: %s", rulesFile, diff)
	}

	root := t.TempDir()
	must(t, os.CopyFS(root, os.DirFS(".")))
	overlay := root + "/overlays/example/kustomization.yaml"
	text, err = os.ReadFile(overlay)
	must(t, err)
	text = []byte(strings.ReplaceAll(string(text), "https://prices.example.com", "https://example.org/prices"))
	must(t, os.WriteFile(overlay, text, 0o644))
	objects, err := render(root + "/overlays/example")
	must(t, err)
	links := 0
	for _, o := range objects {
		r, ok := o.(*prometheusRule)
		if !ok {
			continue
		}
		for _, g := range r.Spec.Groups {
			for _, rule := range g.Rules {
				links++
				if to := rule.Annotations["runbook_url"]; to != "https://example.org/prices/docs/runbook#"+strings.ToLower(rule.Alert) {
					t.Errorf("%s links to %s", rule.Alert, to)
				}
			}
		}
	}
	if links < 15 {
		t.Errorf("only %d alerts were looked at", links)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
