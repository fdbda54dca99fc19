package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/ingest/market"
)

// aMarket returns the events of a small market: its catalogue, and its
// observations of the last span before the current hour.
func aMarket(t *testing.T, cfg market.Config, span time.Duration) (m *market.Market, catalogue, observations []*event.Event) {
	t.Helper()
	cfg.Now = time.Now().UTC().Truncate(time.Hour)
	m = must.Get(market.New(cfg))(t)
	return m, slices.Collect(m.Catalog()), slices.Collect(m.Observations(cfg.Now.Add(-span), cfg.Now))
}

// TestIngest: events from files of every format and from standard input arrive
// once; what is not an event is reported by file and line.
func TestIngest(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	db := u.tables()
	m, catalogue, all := aMarket(t, market.Config{Seed: 5, Scale: 0.02}, 10*24*time.Hour)
	older, observations := all[:len(all)*6/10], all[len(all)*6/10:]
	third := len(observations) / 3
	dir := t.TempDir()
	write := func(name string, events []*event.Event, wrap func(io.Writer) io.WriteCloser) string {
		t.Helper()
		path := filepath.Join(dir, name)
		f := must.Get(os.Create(path))(t)
		w := wrap(f)
		ndjson(t, w, events)
		must.Do(t, w.Close())
		must.Do(t, f.Close())
		return path
	}
	plain := write("catalogue.ndjson", catalogue, func(w io.Writer) io.WriteCloser { return keepOpen{w} })
	gz := write("first.ndjson.gz", observations[:third], func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	zst := write("second.ndjson.zst", observations[third:2*third], func(w io.Writer) io.WriteCloser {
		z := must.Get(zstd.NewWriter(w))(t)
		return z
	})
	rejects := filepath.Join(dir, "rejects.ndjson")
	args := []string{"ingest", "--data-dir", u.DataDir, "--rejects", rejects}
	total := len(catalogue) + 2*third

	out, errs, code := inProcess(t, append(args, plain, gz, zst)...)
	if want := fmt.Sprintf("accepted %s, duplicates 0, rejected 0", thousands(total)); code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d, %q, want %q: %s", code, out, want, errs)
	}
	if _, err := os.Stat(rejects); err == nil {
		t.Error("there is a file of rejected lines, and none was")
	}
	out, errs, code = inProcess(t, append(args, zst, gz, plain)...)
	if want := fmt.Sprintf("accepted 0, duplicates %s, rejected 0", thousands(total)); code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("once more: exit code %d, %q, want %q: %s", code, out, want, errs)
	}

	// The rest comes from standard input, with faults in between.
	var lines bytes.Buffer
	ndjson(t, &lines, observations[2*third:])
	good := slices.Collect(strings.Lines(lines.String()))
	bad := []string{"no JSON\n", strings.Replace(good[0], `"version":1`, `"version":99`, 1), `{"version":1}` + "\n"}
	mixed := slices.Concat(bad[:1], good[:1], bad[1:2], []string{"\n"}, good[1:], bad[2:])
	cmd := command(t, nil, append(args, "-")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(mixed, "")), &stdout, &stderr
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitRejected {
		t.Errorf("with faults: %v", err)
	}
	if want := fmt.Sprintf("accepted %s, duplicates 0, rejected 3", thousands(len(good))); !strings.HasPrefix(stdout.String(), want) || !strings.Contains(stderr.String(), rejects) {
		t.Errorf("with faults: %q %s", stdout.String(), stderr.String())
	}
	text := must.Get(os.ReadFile(rejects))(t)
	var places []int
	for line := range strings.Lines(string(text)) {
		var r ingest.Reject
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.File != "-" || r.Reason == "" || strings.TrimSpace(mixed[r.Line-1]) != r.Text {
			t.Errorf("rejected: %s %v", line, err)
		}
		places = append(places, r.Line)
	}
	if want := []int{1, 3, len(mixed)}; !slices.Equal(places, want) {
		t.Errorf("rejected lines %v, want %v", places, want)
	}

	// A truncated file contributes what it has, and fails.
	whole := must.Get(os.ReadFile(gz))(t)
	cut := filepath.Join(dir, "cut.ndjson.gz")
	must.Do(t, os.WriteFile(cut, whole[:len(whole)/2], 0o600))
	out, errs, code = inProcess(t, append(args, cut)...)
	if code != exitFailed || !strings.Contains(errs, cut) || !strings.Contains(errs, "run it again") {
		t.Errorf("a file that breaks off: exit code %d, %s%s", code, out, errs)
	}
	exits(t, exitFailed, "none")(inProcess(t, append(args, filepath.Join(dir, "none"))...))

	waitUntilApplied(t, u)
	settle(t, db)
	rows := exact(t, db, slices.Values(observations), chain())
	noDoubles(t, db)
	t.Logf("%d events, %d rows", len(catalogue)+len(observations), rows)

	t.Run("interrupted", func(t *testing.T) {
		ingestInterrupted(t, u, slices.Concat(catalogue, older))
		rows := exact(t, db, slices.Values(all), chain())
		noDoubles(t, db)
		t.Logf("%d rows", rows)
	})
	t.Run("import interrupted", func(t *testing.T) { importInterrupted(t, u) })
	t.Run("alerts over outages", func(t *testing.T) { alertsOverOutages(t, u, m.Accounts()[0]) })
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// ingestInterrupted: a run that was interrupted reports it, and the next one
// adds what is missing.
func ingestInterrupted(t *testing.T, u *upProcess, all []*event.Event) {
	effort.Full(t, "interruptions of ingest")
	var text bytes.Buffer
	ndjson(t, &text, all)
	args := []string{"ingest", "--data-dir", u.DataDir, "--rejects", filepath.Join(t.TempDir(), "rejects")}

	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM} {
		cmd := command(t, nil, args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		in := must.Get(cmd.StdinPipe())(t)
		must.Do(t, cmd.Start())
		// More than the pipe holds, so that it is under way; then nothing for a
		// while, as from a slow crawler.
		part := text.Bytes()[:text.Len()*(i+1)/4]
		must.Get(in.Write(part[:bytes.LastIndexByte(part, '\n')+1]))(t)
		time.Sleep(200 * time.Millisecond)
		began := time.Now()
		must.Do(t, cmd.Process.Signal(signal))
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Errorf("%v does not end it while it waits for input", signal)
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = in.Close()
		if signal != syscall.SIGKILL && (cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "run it again")) {
			t.Errorf("%v: exit code %d after %v: %s", signal, cmd.ProcessState.ExitCode(), time.Since(began), stderr.String())
		}
	}

	cmd := command(t, nil, args...)
	var stdout bytes.Buffer
	cmd.Stdin, cmd.Stdout = &text, &stdout
	equals.NoError(t, cmd.Run(), "the last run")
	t.Logf("the last run: %s", stdout.String())
	waitUntilApplied(t, u)
	settle(t, u.tables())
}
