package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest/market"
)

// TestRebuildFrozen: a rebuild that is put to sleep when it is about to exchange
// the tables wakes up after a projector has led and written. It takes back what
// it does then, says so, and drops nothing.
func TestRebuildFrozen(t *testing.T) {
	testserver.Full(t, "a frozen rebuild")
	t.Parallel()
	nats, s := testserver.NATS(t), testserver.ClickHouse(t)
	if _, errs, code := preismon(t, nil, "migrate", "--clickhouse-dsn", s.AdminDSN); code != 0 {
		t.Fatal(errs)
	}
	projector := startRole(t, "projector", "--nats-url", nats, "--clickhouse-dsn", s.ProjectorDSN, "--admin-listen", "127.0.0.1:0")
	db := database(t, s.AdminDSN)
	_, catalogue, observations := aMarket(t, market.Config{Seed: 17, Scale: 0.02}, 6*time.Hour)
	applied := 0
	ingest := func(to int) {
		t.Helper()
		var text bytes.Buffer
		ndjson(t, &text, append(catalogue, observations[applied:to]...))
		if out, errs, code := preismon(t, nil, "ingest", "--nats-url", nats, file(t, "events.ndjson", text.String())); code != 0 {
			t.Fatalf("ingest: exit code %d: %s%s", code, out, errs)
		}
		applied, catalogue = to, nil
		eventually(t, time.Minute, "it is applied", func() bool {
			return number(t, db, "SELECT count() FROM ingested_events") == uint64(to) && projector.metric("preismon_projector_lag_messages") == "0"
		})
	}
	ingest(len(observations) / 2)

	between, through := proxy.Before(t, s.AdminDSN)
	rebuild, errs := command(t, nil, "rebuild", "--nats-url", nats, "--clickhouse-dsn", through), newTranscript()
	rebuild.Stderr = errs
	frozen := make(chan struct{})
	between.Set(proxy.Up, proxy.Rule{Pattern: []byte("EXCHANGE TABLES"), Then: proxy.Hold, Act: func() {
		_ = rebuild.Process.Signal(syscall.SIGSTOP)
		close(frozen)
	}})
	if err := rebuild.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = rebuild.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = rebuild.Process.Kill()
		<-ended
	})
	select {
	case <-frozen:
	case <-ended:
		t.Fatalf("it ended: %s", errs)
	case <-time.After(time.Minute):
		t.Fatalf("it exchanges nothing: %s", errs)
	}
	eventually(t, time.Minute, "the projector leads again", func() bool { return projector.metric(leaderMetric) == "1" })
	ingest(len(observations))
	between.Heal()
	_ = rebuild.Process.Signal(syscall.SIGCONT)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("it has not ended: %s", errs)
	}
	said := message(errs.String())
	if code := rebuild.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(said, "the tables were exchanged back and nothing was dropped") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if n := number(t, db, "SELECT count() FROM system.databases WHERE name = currentDatabase() || '_rebuild'"); n != 1 {
		t.Error("the tables beside were dropped")
	}
	audit := func(when string) {
		t.Helper()
		if out, errs, code := preismon(t, nil, "audit", "--nats-url", nats, "--clickhouse-dsn", s.AdminDSN, "--content"); code != 0 {
			t.Errorf("audit %s: exit code %d: %s%s", when, code, out, errs)
		}
	}
	audit("after it")
	if out, errs, code := preismon(t, nil, "rebuild", "--nats-url", nats, "--clickhouse-dsn", s.AdminDSN); code != 0 {
		t.Errorf("once more: exit code %d: %s%s", code, out, errs)
	}
	audit("after another")
}
