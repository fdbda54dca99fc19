package main

import (
	"regexp"
	"strings"
	"testing"

	"preismon/projector"
	"preismon/query"
)

// TestScopesOutliveReads: no read may run with a scope whose pairs are deleted
// meanwhile, because it would find no rows and no error.
func TestScopesOutliveReads(t *testing.T) {
	if keep := projector.DefaultConfig().KeepScopes; keep < 2*query.MaxHardBudget {
		t.Errorf("scopes are kept for %s, reads may take %s", keep, query.MaxHardBudget)
	}
}

// printed returns what --print-config prints, and the faults that it finds.
func printed(t *testing.T, env []string, args ...string) (all map[string]string, faults string) {
	t.Helper()
	out, errs, code := preismon(t, env, append(args, "--print-config")...)
	if code != 0 && code != exitUsage { // the configuration may lack something
		t.Fatalf("exit code %d: %s", code, errs)
	}
	all = map[string]string{}
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok {
			t.Fatalf("not a setting: %q", line)
		}
		all[name] = value
	}
	return all, errs
}

// TestPrecedence: a flag overrides the environment, which overrides the file,
// which overrides the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	config := file(t, "c.yaml", "listen: 127.0.0.1:1001\nadmin-listen: 127.0.0.1:1002\nstop-grace: 3s\ndemo: true\nallowed-origins: [https://a.example, https://b.example]\n")
	env := []string{"PREISMON_LISTEN=127.0.0.1:2001", "PREISMON_ADMIN_LISTEN=127.0.0.1:2002"}
	got, _ := printed(t, env, "up", "--config", config, "--listen", "127.0.0.1:3001")
	for name, want := range map[string]string{
		"listen": "127.0.0.1:3001", "admin-listen": "127.0.0.1:2002", "stop-grace": "3s", "demo": "true", "demo-scale": "1",
		"allowed-origins": "[https://a.example https://b.example]", "soft-deadline": "5s",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	// The environment may name the file, too, and the specification's two
	// guards keep their own names.
	got, _ = printed(t, []string{"PREISMON_CONFIG=" + config, "RUST_API_RESULTS_SCAN_GUARD_MAX_SCOPE_PAIRS=77"}, "up", "--log-format=text", "--log-level", "warn")
	if got["listen"] != "127.0.0.1:1001" || got["log-format"] != "text" || got["log-level"] != "warn" || got["scan-guard-max-scope-pairs"] != "77" {
		t.Errorf("the configuration is %v", got)
	}
}

// TestSecretsAreHidden: secrets never appear in what is printed, wherever they
// come from.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const hidden = "hush-hush-hush-hush-hush-hush-hush-hush"
	dsn := "clickhouse://u:" + hidden + "@h:9000/d"
	key := file(t, "key", hidden+"\n")
	csv := file(t, "p.csv", "a\n1\n")
	for name, c := range map[string]struct {
		env, args, secrets []string
	}{
		"query":     {nil, []string{"query", "--clickhouse-dsn", dsn, "--nats-url", "nats://u:" + hidden + "@h:4222", "--cursor-key", "@" + key, "--token-key", "k"}, []string{"clickhouse-dsn", "nats-url", "cursor-key"}},
		"variables": {[]string{"PREISMON_CLICKHOUSE_DSN=" + dsn, "PREISMON_NATS_URL=nats://h", "PREISMON_NATS_TOKEN=" + hidden}, []string{"projector"}, []string{"clickhouse-dsn", "nats-token"}},
		"file":      {nil, []string{"migrate", "--config", file(t, "c.yaml", "clickhouse-dsn: "+dsn+"\n")}, []string{"clickhouse-dsn"}},
		"import":    {[]string{"PREISMON_PASSWORD=" + hidden}, []string{"import", csv, "--map", "observations", "--mandate", "M", "--login", "l", "--nats-url", "nats://u:" + hidden + "@h"}, []string{"password", "nats-url"}},
		"ingest":    {[]string{"PREISMON_NATS_URL=nats://u:" + hidden + "@h"}, []string{"ingest"}, []string{"nats-url"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, _ := preismon(t, c.env, append(c.args, "--print-config")...)
			if strings.Contains(out+errs, hidden) {
				t.Errorf("a secret is shown:\n%s%s", out, errs)
			}
			for _, s := range c.secrets {
				if !strings.Contains(out, s+": ***\n") {
					t.Errorf("%s is not shown as hidden:\n%s", s, out)
				}
			}
		})
	}
}

// TestCheck: --check validates and does nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 32)
	for _, args := range [][]string{
		{"up"},
		{"up", "--demo"},
		{"migrate", "--clickhouse-dsn", "clickhouse://u@127.0.0.1:1/d"},
		{"projector", "--nats-url", "nats://127.0.0.1:1", "--clickhouse-dsn", "clickhouse://u@127.0.0.1:1/d"},
		{"query", "--nats-url", "nats://127.0.0.1:1", "--clickhouse-dsn", "clickhouse://u@127.0.0.1:1/d", "--token-key", "k.pem", "--cursor-key", long},
		{"ingest", "--nats-url", "nats://127.0.0.1:1"},
	} {
		if args[0] == "up" {
			args = append(args, "--data-dir", t.TempDir()+"/none")
		}
		out, errs, code := inProcess(t, append(args, "--check")...)
		if code != 0 || out != "The configuration is valid.\n" || errs != "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
}

// TestOneServer: commands that write name one server; commands that only read
// may name several.
func TestOneServer(t *testing.T) {
	t.Parallel()
	servers := []string{"--nats-url", "nats://127.0.0.1:1", "--clickhouse-dsn", "clickhouse://u@127.0.0.1:1,127.0.0.2:1/d", "--check"}
	for _, command := range []string{"projector", "rebuild"} {
		exits(t, exitUsage, "names 2 servers")(inProcess(t, append([]string{command}, servers...)...))
	}
	exits(t, 0)(inProcess(t, append([]string{"audit"}, servers...)...))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	out, errs, code := inProcess(t, "version")
	if code != 0 || errs != "" || !regexp.MustCompile(`^preismon \S+\n$`).MatchString(out) {
		t.Errorf("exit code %d: %q %q", code, out, errs)
	}
}

// TestShortNames: the short names that people type for the demo's seed and
// speed and for a NATS server set the flags with the longer names.
func TestShortNames(t *testing.T) {
	t.Parallel()
	out, errs, code := inProcess(t, "up", "--seed", "7", "--speed", "3", "--print-config")
	if code != 0 || !strings.Contains(out, "demo-seed: 7\n") || !strings.Contains(out, "demo-speed: 3\n") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	out, errs, code = inProcess(t, "ingest", "--nats", "nats://127.0.0.1:4222", "--check")
	if code != 0 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
