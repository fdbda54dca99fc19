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

// TestRules: the operator gets the rules that deploy/prometheus holds, and each
// links to the runbook at the address of the overlay's query service.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("../prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var want prometheusRule
	want.APIVersion, want.Kind, want.Name = "monitoring.coreos.com/v1", "PrometheusRule", "preismon"
	if err := yaml.UnmarshalStrict(text, &want.Spec); err != nil {
		t.Fatal(err)
	}
	if *update {
		text, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text = append([]byte("# Made from deploy/prometheus/alerts.yml, whose comments it lacks.\n"), text...)
		if err := os.WriteFile(rulesFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err = os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var got prometheusRule
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is stale; -update writes it: %s", rulesFile, diff)
	}

	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	overlay := root + "/overlays/example/kustomization.yaml"
	text, err = os.ReadFile(overlay)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), "https://prices.example.com", "https://example.org/prices"))
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	objects, err := render(root + "/overlays/example")
	if err != nil {
		t.Fatal(err)
	}
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
