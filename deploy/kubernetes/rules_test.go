package kubernetes_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

var update = flag.Bool("update", false, "write the rules of the Prometheus operator")

const rulesFile = "components/monitoring/rules.yaml"

// TestRules: the operator receives the rules in deploy/prometheus, and each
// links to the runbook at the address of the overlay's query service.
func TestRules(t *testing.T) {
	text := must.Get(os.ReadFile("../prometheus/alerts.yml"))(t)
	var want prometheusRule
	want.APIVersion, want.Kind, want.Name = "monitoring.coreos.com/v1", "PrometheusRule", "preismon"
	must.Do(t, yaml.UnmarshalStrict(text, &want.Spec))
	if *update {
		text := must.Get(yaml.Marshal(want))(t)
		text = append([]byte("# Made from deploy/prometheus/alerts.yml, whose comments it lacks.\n"), text...)
		must.Do(t, os.WriteFile(rulesFile, text, 0o644))
	}
	text = must.Get(os.ReadFile(rulesFile))(t)
	var got prometheusRule
	must.Do(t, yaml.UnmarshalStrict(text, &got))
	equals.Checkf(t, want, got, "%s is stale; -update writes it", rulesFile)

	root := t.TempDir()
	must.Do(t, os.CopyFS(root, os.DirFS(".")))
	overlay := root + "/overlays/example/kustomization.yaml"
	text = must.Get(os.ReadFile(overlay))(t)
	text = []byte(strings.ReplaceAll(string(text), "https://prices.example.com", "https://example.org/prices"))
	must.Do(t, os.WriteFile(overlay, text, 0o644))
	objects := must.Get(render(root + "/overlays/example"))(t)
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
