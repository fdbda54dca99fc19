package prometheus_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"preismon/deploy/testserver/must"
)

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

type dashboard struct {
	UID         string  `json:"uid"`
	Panels      []panel `json:"panels"`
	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

// ours is the dashboard of the repository.
func ours(t *testing.T) (d dashboard) {
	t.Helper()
	text := must.Get(os.ReadFile("../grafana/dashboards/preismon.json"))(t)
	must.Do(t, json.Unmarshal(text, &d))
	return d
}

var placeholder = regexp.MustCompile(`\{\{\s*([a-z]+)\s*\}\}`)

// TestDashboard: every panel queries metrics that are exposed, has a unit and
// overlaps no other panel, and every metric of ours is on the dashboard or in
// an alert.
func TestDashboard(t *testing.T) {
	t.Parallel()
	known, d := documented(t), ours(t)
	shown := ""
	ids := map[int]bool{}
	for i, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: the id %d is another's", p.Title, p.ID)
		}
		ids[p.ID] = true
		for _, other := range d.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies on %s", p.Title, other.Title)
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.FieldConfig.Defaults.Unit == "" && p.Type != "heatmap" || len(p.Targets) == 0 {
			t.Errorf("%s: no unit, or nothing asked for", p.Title)
		}
		for _, target := range p.Targets {
			for _, fault := range check(known, target.Expr) {
				t.Errorf("%s: %s: %s", p.Title, fault, target.Expr)
			}
			for _, l := range placeholder.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`\b`+l[1]+`\b`).MatchString(target.Expr) && !slices.Contains(scraped, l[1]) {
					t.Errorf("%s: the legend names %s, which is not asked for: %s", p.Title, l[1], target.Expr)
				}
			}
			shown += target.Expr + "\n"
		}
	}
	for _, a := range d.Annotations.List {
		for _, fault := range check(known, a.Expr) {
			t.Errorf("annotation: %s", fault)
		}
	}
	for _, r := range alerts(t) {
		shown += r.Expr + "\n"
	}
	for name := range known {
		base := regexp.MustCompile(`_(sum|count)$`).ReplaceAllString(name, "")
		if _, histogram := known[base+"_bucket"]; histogram || name == "up" { // of a histogram, the buckets must be shown
			continue
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(shown) {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

// TestProvisioning: Grafana finds the data source and the dashboards where they
// are mounted.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	var source struct {
		Version int              `yaml:"apiVersion"`
		Sources []map[string]any `yaml:"datasources"`
	}
	readYAML(t, "../grafana/provisioning/datasources/prometheus.yml", &source)
	if len(source.Sources) != 1 || source.Sources[0]["type"] != "prometheus" || source.Sources[0]["url"] != "http://prometheus:9090" {
		t.Errorf("sources %v", source.Sources)
	}
	var boards struct {
		Version   int              `yaml:"apiVersion"`
		Providers []map[string]any `yaml:"providers"`
	}
	readYAML(t, "../grafana/provisioning/dashboards/preismon.yml", &boards)
	if len(boards.Providers) != 1 || boards.Providers[0]["type"] != "file" {
		t.Errorf("providers %v", boards.Providers)
	}
}
