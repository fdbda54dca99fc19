package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// says checks that a command failed as it should: with that code and, on
// standard error in addition to the log, with words that describe what to do.
func says(t *testing.T, stdout, stderr string, code, want int, words ...string) {
	t.Helper()
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	if strings.Contains(stdout, "ready") {
		t.Errorf("it says that it is ready: %s", stdout)
	}
	told := message(stderr)
	for _, w := range words {
		if !strings.Contains(told, w) {
			t.Errorf("it does not say %q", w)
		}
	}
	if strings.Contains(told, "goroutine ") || strings.Contains(told, "panic") {
		t.Error("it panics")
	}
	if t.Failed() {
		t.Logf("it says:\n%s\nand logs:\n%s", told, stderr)
	}
}

// sentence checks that the message is one line.
func sentence(t *testing.T, stderr string) {
	t.Helper()
	if told := strings.TrimSpace(message(stderr)); strings.Count(told, "\n") > 0 || !strings.HasPrefix(told, "preismon: ") {
		t.Errorf("that is not one sentence:\n%s", told)
	}
}

func taken(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

var anywhere = []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}

func TestUpPortTaken(t *testing.T) {
	t.Parallel()
	address := taken(t)
	for _, flag := range []string{"--listen", "--admin-listen"} {
		other := map[string]string{"--listen": "--admin-listen", "--admin-listen": "--listen"}[flag]
		dir := filepath.Join(t.TempDir(), "data")
		out, errs, code := preismon(t, nil, "up", "--data-dir", dir, flag, address, other, "127.0.0.1:0")
		says(t, out, errs, code, exitFailed, address, "choose another address with "+flag+"\n")
		sentence(t, errs)
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: it made the folder all the same", flag)
		}
	}
}

// oneFolder: one folder, one process, one schema.
func oneFolder(t *testing.T, u *upProcess) {
	// A second one in the same folder.
	out, errs, code := preismon(t, nil, append([]string{"up", "--data-dir", u.DataDir}, anywhere...)...)
	says(t, out, errs, code, exitFailed, u.DataDir, "in use by process", "stop it, or choose another folder")
	sentence(t, errs)
	if status, _ := u.client().get("/healthz", nil); status != 200 {
		t.Errorf("the first one answers %d after the second was refused", status)
	}
	// A newer program ran here.
	db := u.tables()
	must.Get(db.ExecContext(t.Context(), "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', 'x')"))(t)
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")
	out, errs, code = preismon(t, nil, append([]string{"up", "--data-dir", u.DataDir}, anywhere...)...)
	says(t, out, errs, code, exitFailed, u.DataDir, "newer", "9999", "another --data-dir")
	sentence(t, errs)
}

func TestUpForeignFolder(t *testing.T) {
	t.Parallel()
	notOurs := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(notOurs, "thesis.txt"), []byte("mine"), 0o600))
	out, errs, code := inProcess(t, append([]string{"up", "--data-dir", notOurs}, anywhere...)...)
	says(t, out, errs, code, exitFailed, notOurs, "not a data folder", "choose another")
	sentence(t, errs)
	if entries, _ := os.ReadDir(notOurs); len(entries) != 1 {
		t.Errorf("it wrote into a folder that is not ours: %v", entries)
	}
	file := filepath.Join(notOurs, "thesis.txt")
	out, errs, code = inProcess(t, append([]string{"up", "--data-dir", file}, anywhere...)...)
	says(t, out, errs, code, exitFailed, file, "choose another")
	sentence(t, errs)
}

// TestWrongConfiguration: all faults are reported at once, and nothing is
// started.
func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	csv := file(t, "p.csv", "a,b\n1,2\n")
	missing := filepath.Join(t.TempDir(), "nothing-here")
	for name, c := range map[string]struct {
		args  []string
		code  int
		words []string
	}{
		"up, several faults": {
			args:  []string{"up", "--demo-scale", "1000", "--hard-budget", "0s", "--reads-per-minute=-1", "--base-url", "prices", "--token-lifetime=-1h"},
			code:  exitUsage,
			words: []string{"scale: 1000", "hard", "reads", "base url", "lifetime"},
		},
		"up, addresses": {args: []string{"up", "--listen", "8080", "--admin-listen", "localhost:http:x"}, code: exitUsage, words: []string{"listen: 8080", "admin-listen: localhost:http:x"}},
		"up, no market": {args: []string{"up", "--demo", "--demo-scale", "0"}, code: exitUsage, words: []string{"demo-scale: not positive"}},
		"query, nothing given": {
			args: []string{"query"}, code: exitUsage,
			words: []string{"nats-url: missing", "clickhouse-dsn: missing", "token-key: missing", "cursor-key: missing"},
		},
		"query, several faults": {
			args: []string{"query", "--nats-url", "http://x", "--clickhouse-dsn", "mysql://x", "--cursor-key", "short", "--token-key", "k.pem", "--soft-deadline", "1h"},
			code: exitUsage, words: []string{"nats-url: scheme", "clickhouse-dsn: not", "cursor-key: 5 bytes", "hard-budget: less"},
		},
		"projector":             {args: []string{"projector"}, code: exitUsage, words: []string{"nats", "clickhouse-dsn: missing"}},
		"migrate":               {args: []string{"migrate"}, code: exitUsage, words: []string{"clickhouse-dsn: missing"}},
		"ingest without a way":  {args: []string{"ingest"}, code: exitUsage, words: []string{"nats-url", "data-dir", "one of them is needed"}},
		"ingest with two":       {args: []string{"ingest", "--nats-url", "nats://h:4222", "--data-dir", missing}, code: exitUsage, words: []string{"--nats-url, --data-dir: only one"}},
		"ingest without a up":   {args: []string{"ingest", "--data-dir", missing}, code: exitUsage, words: []string{missing, "no preismon runs on this folder", "preismon up --data-dir " + missing}},
		"import, unknown map":   {args: []string{"import", csv, "--map", missing, "--mandate", "M", "--login", "me", "--dry-run"}, code: exitUsage, words: []string{"no file " + missing, "observations, marketplace-offers, example"}},
		"import, wrong map":     {args: []string{"import", csv, "--map", file(t, "m.yaml", "source: x\ncolumns: {sight: a}\n"), "--mandate", "M", "--login", "me", "--dry-run"}, code: exitUsage, words: []string{"sight"}},
		"import, missing flags": {args: []string{"import", csv}, code: exitUsage, words: []string{"--mandate", "--login"}},
		"import, no such file":  {args: []string{"import", missing, "--map", "example", "--mandate", "M", "--login", "me", "--dry-run"}, code: exitFailed, words: []string{missing}},
		"import, no columns":    {args: []string{"import", csv, "--map", "example", "--mandate", "M", "--login", "me", "--dry-run"}, code: exitFailed, words: []string{"sku", "seen", "price"}},
		"unknown command":       {args: []string{"upp"}, code: exitUsage, words: []string{"upp"}},
		"config is no YAML":     {args: []string{"up", "--config", file(t, "c.yaml", "listen: [\n")}, code: exitUsage, words: []string{"config file"}},
		"secret is not there":   {args: []string{"migrate", "--clickhouse-dsn", "@" + missing}, code: exitUsage, words: []string{missing}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			args := c.args
			switch args[0] {
			case "up":
				args = append(args, "--data-dir", dir)
			case "import", "ingest":
				args = append(args, "--rejects", filepath.Join(t.TempDir(), "rejects"))
			}
			out, errs, code := inProcess(t, args...)
			says(t, out, errs, code, c.code, c.words...)
			if _, err := os.Stat(dir); err == nil {
				t.Error("it made the folder all the same")
			}
		})
	}
}

// TestUnreachableServers: a server that does not answer is named once, with its
// address and what to check, and without the password.
func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	const (
		nats       = "nothing answers at nats://***@127.0.0.1:1: is NATS running, and is this its address"
		clickhouse = "Nothing answers at 127.0.0.1:1: is it running, and is this its address?"
	)
	for want, args := range map[string][]string{
		nats:       {"projector", "--nats-url", "nats://u:hush-hush@127.0.0.1:1", "--clickhouse-dsn", "clickhouse://u:hush-hush@127.0.0.1:1/d", "--admin-listen", "127.0.0.1:0"},
		nats + " ": {"ingest", "--nats-url", "nats://u:hush-hush@127.0.0.1:1", file(t, "e.ndjson", "")},
		clickhouse: {"migrate", "--clickhouse-dsn", "clickhouse://u:hush-hush@127.0.0.1:1/d"},
	} {
		t.Run(args[0], func(t *testing.T) {
			out, errs, code := preismon(t, nil, args...)
			says(t, out, errs, code, exitFailed)
			if strings.Count(errs, strings.TrimSpace(want)) != 1 {
				t.Errorf("not once %q in: %s", want, errs)
			}
			if strings.Contains(errs, "hush-hush") {
				t.Errorf("the password is printed: %s", errs)
			}
			if !regexp.MustCompile(`refused|no servers available`).MatchString(errs) {
				t.Errorf("it does not say why: %s", errs)
			}
		})
	}
}
