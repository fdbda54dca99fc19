package compose_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// stack is docker-compose.yml, started as a separate project.
type stack struct {
	t       *testing.T
	folder  string // a copy of the files that it mounts, with secrets
	name    string
	url     string
	program string // preismon, static

	prometheus string // its address; empty: there is none, for a reason that the test reports
}

// compose prepares a command for the project.
func (s *stack) compose(args ...string) *exec.Cmd {
	cmd := tools.Compose(s.t, append([]string{
		"--project-name", s.name, "--project-directory", s.folder, "--profile", "demo",
		"-f", filepath.Join(s.folder, "docker-compose.yml"), "-f", filepath.Join(s.folder, "override.yml"),
	}, args...)...)
	u := must.Get(url.Parse(s.url))(s.t)
	cmd.Env = append(os.Environ(),
		"PREISMON_IMAGE="+preismonImage, "CLICKHOUSE_IMAGE="+clickHouseImage, "NATS_IMAGE="+natsImage, "S3_IMAGE="+minioImage,
		"PREISMON_PORT="+u.Port(), "PREISMON_DEMO_SCALE=0.1")
	if s.prometheus != "" {
		_, port, _ := net.SplitHostPort(s.prometheus)
		cmd.Env = append(cmd.Env, "PROMETHEUS_IMAGE="+prometheusImage, "PROMETHEUS_PORT="+port, "PREISMON_TEST_PROMETHEUS_PROFILE=demo")
	}
	return cmd
}

// TestCompose starts docker-compose.yml on a Docker engine and does with it
// what a person does with the demo.
func TestCompose(t *testing.T) {
	needsEngine(t)
	began := time.Now()
	lap := func(what string) {
		t.Logf("%s: %v", what, time.Since(began).Round(100*time.Millisecond))
		began = time.Now()
	}
	tools.Compose(t) // built first, so that a failure to build it is reported as such
	s := &stack{t: t, folder: t.TempDir(), name: "preismon-test-" + strings.ToLower(rand.Text()[:8]), url: "http://127.0.0.1:" + freePort(t)}
	s.program = buildImages(t)
	if reason := os.Getenv(tools.NoPrometheusVariable); reason != "" {
		t.Logf("NOT tested with Prometheus: %s", reason)
	} else {
		buildPrometheus(t)
		s.prometheus = "127.0.0.1:" + freePort(t)
	}
	lap("images")
	for from, to := range map[string]string{
		"docker-compose.yml": "docker-compose.yml", "deploy/compose/testdata/override.yml": "override.yml",
		"deploy/clickhouse": "deploy/clickhouse", "deploy/nats": "deploy/nats", "deploy/prometheus": "deploy/prometheus",
	} {
		to = filepath.Join(s.folder, to)
		must.Do(t, os.MkdirAll(filepath.Dir(to), 0o755))
		run(t, exec.CommandContext(t.Context(), "cp", "-r", filepath.Join(root, from), to))
	}
	run(t, exec.CommandContext(t.Context(), s.program, "secrets", filepath.Join(s.folder, "deploy/secrets")))

	t.Cleanup(func() {
		if t.Failed() {
			out, _ := tools.Compose(t, "--project-name", s.name, "ps", "--all").CombinedOutput()
			logs, _ := tools.Compose(t, "--project-name", s.name, "logs", "--tail", "40").CombinedOutput()
			t.Logf("%s\n%s", out, logs)
		}
	})
	tearDown(t, s.name)
	run(t, s.compose("up", "--detach", "--wait", "--wait-timeout", "150", "--no-build", "--pull", "never"))
	lap("up, all healthy")

	t.Run("static", s.static)
	t.Run("demo", s.demo)
	t.Run("archives", s.archives)
	t.Run("explorer", s.explorer)
	t.Run("scraped", s.scraped)
	if s.prometheus != "" {
		t.Run("observed", s.observed)
	}
	t.Run("hardened", s.hardened)
	lap("checks")
	t.Run("again", s.recreate)
	lap("down and up again")
	t.Run("stops", s.stops)
	lap("stop")
}

// tearDown removes the project at the end of the test, when the test's own
// context is already over.
func tearDown(t *testing.T, name string) {
	t.Helper()
	program := tools.Compose(t).Path
	t.Cleanup(func() {
		cmd := exec.Command(program, "--project-name", name, "down", "--volumes", "--remove-orphans", "--timeout", "10")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("take the project down: %v\n%s", err, out)
		}
	})
}

// static: on a machine without a clickhouse program, `up` of the image's
// program fails and says how to get one.
func (s *stack) static(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), s.program, "up", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/nowhere"}
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("loads no ClickHouse library for linux/amd64; get a clickhouse program with ")) {
		t.Errorf("%v: %s", err, out)
	}
}

// account is a login of the demo.
type account struct{ LoginIdentifier, Password, Mandate, Sees string }

// accounts reads the logins from the volume of the market.
func (s *stack) accounts(t *testing.T) (all []account) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "accounts.json")
	run(t, s.compose("cp", "market:/var/lib/preismon/market/demo-accounts.json", file))
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) == 0 || all[0].Password == "" {
		t.Fatalf("no logins: %v\n%s", err, text)
	}
	return all
}

// as runs the client of the image's program for the stack.
func (s *stack) as(t *testing.T, home string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, args...)
	cmd.Env = append(append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "PREISMON_URL="+s.url), env...)
	return run(t, cmd)
}

// login logs in as an account of the demo; its folder keeps the token.
func (s *stack) login(t *testing.T, a account) (home string) {
	t.Helper()
	home = t.TempDir()
	s.as(t, home, []string{"PREISMON_PASSWORD=" + a.Password}, "login", "--login", a.LoginIdentifier)
	return home
}

// demo: the demo's first login reads sites, results and a complete stream.
func (s *stack) demo(t *testing.T) {
	home := s.login(t, s.accounts(t)[0])
	sites := strings.Count(s.as(t, home, nil, "sites", "--format", "ndjson"), "\n")
	if sites == 0 {
		t.Fatal("no sites")
	}
	// The market publishes its past before it is healthy; the projector follows
	// some moments later.
	rows, before := 0, -1
	for deadline := time.Now().Add(time.Minute); rows != before || rows == 0; time.Sleep(time.Second) {
		before, rows = rows, strings.Count(s.as(t, home, nil, "stream", "--latest-per-pair"), "\n")
		if time.Now().After(deadline) {
			t.Fatalf("%d rows, and they still change", rows)
		}
	}
	page := s.as(t, home, nil, "results", "--limit", "20", "--format", "ndjson")
	if n := strings.Count(page, "\n"); n != 20 {
		t.Errorf("a page of 20 has %d:\n%s", n, page)
	}
	all := s.as(t, home, nil, "stream")
	if n := strings.Count(all, "\n"); n < 1000 {
		t.Errorf("the stream of 14 days has %d rows", n)
	}
	t.Logf("%d sites, %d latest rows, %d rows in the stream", sites, rows, strings.Count(all, "\n"))
}

// archives: a file that the market stored in S3 is downloaded as it is listed.
func (s *stack) archives(t *testing.T) {
	home := s.login(t, s.accounts(t)[0])
	for line := range strings.Lines(s.as(t, home, nil, "orders", "--format", "ndjson")) {
		var order struct{ OrderID string }
		if err := json.Unmarshal([]byte(line), &order); err != nil || order.OrderID == "" {
			t.Fatalf("%v: %s", err, line)
		}
		newest, _, _ := strings.Cut(s.as(t, home, nil, "history", "list", order.OrderID, "--format", "ndjson"), "\n")
		if newest == "" {
			continue
		}
		var listed struct{ SizeBytes int64 }
		file := filepath.Join(t.TempDir(), "file")
		s.as(t, home, nil, "history", "download", order.OrderID, "--latest", "--output", file)
		info, err := os.Stat(file)
		if err = errors.Join(err, json.Unmarshal([]byte(newest), &listed)); err != nil || listed.SizeBytes == 0 || info.Size() != listed.SizeBytes {
			t.Errorf("the newest file of order %s has %v, listed is %s: %v", order.OrderID, info, newest, err)
		}
		return
	}
	t.Error("no order has a file")
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp := must.Get(http.Get(url))(t)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %s %v", url, resp.Status, err)
	}
	return string(body)
}

// explorer: the page is served, with the libraries that were put into the
// image.
func (s *stack) explorer(t *testing.T) {
	if page := get(t, s.url+"/explorer/"); !strings.Contains(page, "<html") {
		t.Errorf("the explorer is %.200s", page)
	}
	for _, name := range []string{"preact.module.js", "uPlot.iife.min.js", "uPlot.min.css"} {
		if body := get(t, s.url+"/explorer/"+name); len(body) < 1000 {
			t.Errorf("%s has %d bytes", name, len(body))
		}
	}
	if !strings.Contains(get(t, s.url+"/openapi/openapi.yaml"), s.url) {
		t.Error("the contract does not name the address")
	}
}

// scraped: every role answers at its name and port as Prometheus scrapes it,
// and nothing except the public surface can be reached from outside.
func (s *stack) scraped(t *testing.T) {
	for role, metric := range map[string]string{
		"projector": "preismon_projector_leader 1", "query": "preismon_build_info", "market": "preismon_build_info",
	} {
		run(t, s.compose("run", "--rm", "--no-deps", "--entrypoint", "/usr/bin/preismon", "query",
			"health", "--health-url", "http://"+role+":9090/metrics"))
		id := strings.TrimSpace(run(t, s.compose("ps", "--quiet", role)))
		ip := strings.TrimSpace(docker(t, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id))
		if body := get(t, "http://"+ip+":9090/metrics"); !strings.Contains(body, metric) {
			t.Errorf("the metrics of %s have no %q", role, metric)
		}
	}
	var ports []string
	for line := range strings.Lines(run(t, s.compose("ps", "--format", "json"))) {
		var c struct {
			Service    string
			Publishers []struct {
				URL           string
				PublishedPort int
			}
		}
		must.Do(t, json.Unmarshal([]byte(line), &c))
		for _, p := range c.Publishers {
			if p.PublishedPort != 0 {
				ports = append(ports, fmt.Sprintf("%s %s:%d", c.Service, p.URL, p.PublishedPort))
			}
		}
	}
	want := []string{"query " + strings.TrimPrefix(s.url, "http://")}
	if s.prometheus != "" {
		want = append(want, "prometheus "+s.prometheus)
	}
	slices.Sort(want)
	slices.Sort(ports)
	equals.Slices(t, want, ports, "published")
}

// observed: Prometheus finds each process by its service's name, and evaluates
// every rule.
func (s *stack) observed(t *testing.T) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		var targets struct {
			Data struct {
				ActiveTargets []struct {
					Health string
					Labels struct{ Job string }
				}
			}
		}
		var rules struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health string }
				}
			}
		}
		must.Do(t, json.Unmarshal([]byte(get(t, "http://"+s.prometheus+"/api/v1/targets?state=active")), &targets))
		must.Do(t, json.Unmarshal([]byte(get(t, "http://"+s.prometheus+"/api/v1/rules")), &rules))
		up, sound, all := map[string]int{}, 0, 0
		for _, target := range targets.Data.ActiveTargets {
			if target.Health == "up" {
				up[target.Labels.Job]++
			}
		}
		for _, g := range rules.Data.Groups {
			for _, r := range g.Rules {
				if all++; r.Health == "ok" {
					sound++
				}
			}
		}
		if up["projector"] > 0 && up["query"] > 0 && up["ingest"] > 0 && all > 5 && sound == all {
			t.Logf("up: %v, %d rules", up, all)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("up: %v, %d of %d rules are sound", up, sound, all)
		}
	}
}
