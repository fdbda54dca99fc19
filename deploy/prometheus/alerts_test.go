package prometheus_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"preismon/deploy/testserver/must"
)

// rules is the part of Prometheus' rule file format that ours uses.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// readYAML reads a file strictly.
func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(to); err != nil {
		t.Fatalf("%s: %s", name, yaml.FormatError(err, false, true))
	}
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var r rules
	readYAML(t, "alerts.yml", &r)
	var all []rule
	for _, g := range r.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// TestAlerts: every rule queries metrics that are exposed, describes its alert,
// and links to a paragraph that exists; no paragraph is about a rule that is
// gone.
func TestAlerts(t *testing.T) {
	t.Parallel()
	known, paragraphs := documented(t), anchors(t)
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		for _, fault := range check(known, r.Expr) {
			t.Errorf("%s: %s", r.Alert, fault)
		}
		anchor := strings.ToLower(r.Alert)
		if seen[anchor] {
			t.Errorf("%s: twice", r.Alert)
		}
		seen[anchor] = true
		if r.Annotations["runbook_url"] != "https://prices.example.com/docs/runbook#"+anchor || !paragraphs[anchor] {
			t.Errorf("%s: the runbook %q is not there", r.Alert, r.Annotations["runbook_url"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: no summary or no description", r.Alert)
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
	}
	for p := range paragraphs {
		if !seen[p] {
			t.Errorf("%s has a paragraph, and no rule", p)
		}
	}
}

// TestScrapes: the configuration loads the rules, and scrapes the admin ports.
func TestScrapes(t *testing.T) {
	t.Parallel()
	var config struct {
		Global struct {
			Scrape     string `yaml:"scrape_interval"`
			Evaluation string `yaml:"evaluation_interval"`
		} `yaml:"global"`
		RuleFiles []string `yaml:"rule_files"`
		Scrapes   []struct {
			Job string `yaml:"job_name"`
			DNS []struct {
				Names []string `yaml:"names"`
				Type  string   `yaml:"type"`
				Port  int      `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "prometheus.yml", &config)
	for _, name := range config.RuleFiles {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	jobs := ""
	for _, s := range config.Scrapes {
		jobs += s.Job + " "
		if len(s.DNS) != 1 || len(s.DNS[0].Names) != 1 || s.DNS[0].Names[0] != s.Job || s.DNS[0].Port != 9090 {
			t.Errorf("%s: %+v is not its service's admin port", s.Job, s.DNS)
		}
	}
	if jobs != "projector query notify ingest " || len(config.RuleFiles) != 1 {
		t.Errorf("jobs %s, rules %v", jobs, config.RuleFiles)
	}
}
