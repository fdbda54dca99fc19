package prometheus_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/deploy/testserver/tools"
	"preismon/query/auth"
)

func TestMain(m *testing.M) { process.Main(m) }

// TestReal: a real Prometheus loads the configuration and the rules, scrapes
// every role, evaluates every rule and answers every panel; and when a
// projector dies, the alert for that fires.
func TestReal(t *testing.T) {
	t.Parallel()
	program := tools.Prometheus(t)
	roles := estate(t)
	p := startPrometheus(t, program, roles)

	scraped := []string{"ingest", "projector", "projector", "query"}
	err := must.Until(time.Minute, "every target is up", func() bool {
		jobs, down := p.targets(t)
		return down == "" && slices.Equal(jobs, scraped)
	})
	if err != nil {
		jobs, down := p.targets(t)
		t.Fatalf("%v: %v are up, %s", err, jobs, down)
	}
	if err := must.Until(time.Minute, "a projector leads", func() bool { return p.value(t, "sum(preismon_projector_leader)") == 1 }); err != nil {
		t.Error(err)
	}
	var want []string
	for _, r := range alerts(t) {
		want = append(want, r.Alert)
	}
	var found []string
	err = must.Until(time.Minute, "every rule is evaluated", func() bool {
		found = nil
		for _, r := range p.rules(t) {
			if r.Health == "unknown" {
				return false
			}
			found = append(found, r.Name)
			if r.Health != "ok" || r.LastError != "" || r.State == "firing" {
				t.Errorf("%s: health %s, %s, state %s", r.Name, r.Health, r.LastError, r.State)
			}
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
	equals.Slices(t, want, found, "it has the rules")
	for _, expr := range p.panels(t) {
		p.ask(t, "/api/v1/query", url.Values{"query": {expr}}, nil)
	}
	if n := p.value(t, `count(count by (__name__) ({__name__=~"preismon_.*"}))`); n < 50 {
		t.Errorf("it has %v metrics of ours", n)
	}

	roles["projector"][1].Kill()
	if err := must.Until(time.Minute, "the alert of the dead projector goes off", func() bool {
		for _, r := range p.rules(t) {
			if r.Name == "PreismonDown" {
				return r.State != "inactive"
			}
		}
		return false
	}); err != nil {
		t.Error(err)
	}
}

// estate starts one process of each role that has an admin port, and a second
// projector, and returns them by the names of their jobs.
func estate(t *testing.T) map[string][]*process.Role {
	t.Helper()
	tables, streams := migrated.ClickHouse(t), testserver.NATS(t)
	key := filepath.Join(t.TempDir(), "token.pem")
	must.Do(t, auth.EnsureKey(key))
	events, open, err := os.Pipe() // of a crawler that sends nothing
	must.Do(t, err)
	t.Cleanup(func() { _, _ = events.Close(), open.Close() })
	all := map[string][]*process.Role{}
	for _, args := range [][]string{
		{"projector", "--clickhouse-dsn", tables.ProjectorDSN},
		{"projector", "--clickhouse-dsn", tables.ProjectorDSN},
		{"query", "--clickhouse-dsn", tables.QueryDSN, "--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4), "--base-url", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"},
		{"ingest"},
	} {
		r := process.New(t, append(args, "--nats-url", streams, "--admin-listen", "127.0.0.1:0")...)
		r.In = events
		must.Do(t, r.Start())
		all[args[0]] = append(all[args[0]], r)
	}
	return all
}

// server is a running Prometheus.
type server struct{ url string }

// startPrometheus starts it with our configuration, in which each job scrapes
// its roles instead of names known only in a network of containers, and all
// intervals are one second.
func startPrometheus(t *testing.T, program string, roles map[string][]*process.Role) *server {
	t.Helper()
	folder := t.TempDir()
	var config map[string]any
	readYAML(t, "prometheus.yml", &config)
	for name := range config["global"].(map[string]any) {
		config["global"].(map[string]any)[name] = "1s"
	}
	for _, s := range config["scrape_configs"].([]any) {
		job := s.(map[string]any)
		delete(job, "dns_sd_configs")
		var targets []string
		for _, r := range roles[job["job_name"].(string)] {
			targets = append(targets, r.Admin())
		}
		job["static_configs"] = []any{map[string]any{"targets": targets}}
	}
	text := must.Get(yaml.Marshal(config))(t)
	rules := must.Get(os.ReadFile("alerts.yml"))(t)
	for name, content := range map[string][]byte{"prometheus.yml": text, "alerts.yml": rules} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	_ = l.Close() // Prometheus does not report a port that it chose
	var log strings.Builder
	cmd := exec.Command(program, "--config.file="+filepath.Join(folder, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	cmd.Stderr = &log
	process.DieWithTest(cmd)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus says:\n%s", log.String())
		}
	})
	p := &server{url: "http://" + address}
	must.Eventually(t, time.Minute, "Prometheus is ready", func() bool {
		resp, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// ask queries the HTTP API.
func (p *server) ask(t *testing.T, path string, query url.Values, to any) {
	t.Helper()
	resp := must.Get(http.Get(p.url + path + "?" + query.Encode()))(t)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	if answer.Status != "success" {
		t.Errorf("%s %v: %s", path, query, answer.Error)
	} else if to != nil {
		if err := json.Unmarshal(answer.Data, to); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// targets returns the jobs of the targets that are up, and what is wrong with
// another.
func (p *server) targets(t *testing.T) (jobs []string, down string) {
	t.Helper()
	var found struct {
		ActiveTargets []struct {
			Labels            map[string]string
			Health, LastError string
		}
	}
	p.ask(t, "/api/v1/targets", nil, &found)
	for _, a := range found.ActiveTargets {
		if a.Health != "up" || a.LastError != "" {
			down = fmt.Sprintf("%s is %s: %s", a.Labels["job"], a.Health, a.LastError)
			continue
		}
		jobs = append(jobs, a.Labels["job"])
	}
	slices.Sort(jobs)
	return jobs, down
}

// alerting is a rule as Prometheus sees it.
type alerting struct{ Name, Health, LastError, State string }

func (p *server) rules(t *testing.T) (all []alerting) {
	t.Helper()
	var found struct{ Groups []struct{ Rules []alerting } }
	p.ask(t, "/api/v1/rules", nil, &found)
	for _, g := range found.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// value returns the value of an expression that has one; 0 if it has none.
func (p *server) value(t *testing.T, expr string) (v float64) {
	t.Helper()
	var found struct{ Result []struct{ Value [2]any } }
	p.ask(t, "/api/v1/query", url.Values{"query": {expr}}, &found)
	if len(found.Result) == 1 {
		_, _ = fmt.Sscan(fmt.Sprint(found.Result[0].Value[1]), &v)
	}
	return v
}

// panels returns the expressions of the dashboard.
func (p *server) panels(t *testing.T) (all []string) {
	t.Helper()
	for _, p := range ours(t).Panels {
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(target.Expr))
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d panels", len(all))
	}
	return all
}
