package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/ingest/market"
)

// TestProjectorAfterALostTail: what a power loss leaves, rows of a batch that
// was cut off and a stream that has other messages at its places, is mended by
// the next projector without anybody's help.
func TestProjectorAfterALostTail(t *testing.T) {
	testserver.Full(t, "a stream that lost its tail")
	t.Parallel()
	ch, nats := testserver.ClickHouse(t), testserver.NATS(t)
	db := database(t, ch.AdminDSN)
	if _, errs, code := preismon(t, nil, "migrate", "--clickhouse-dsn", ch.AdminDSN); code != 0 {
		t.Fatal(errs)
	}
	_, catalogue, observations := aMarket(t, market.Config{Seed: 7, Scale: 0.2}, 2*time.Hour)
	half := len(observations) / 2
	publish := func(events []*event.Event) {
		t.Helper()
		var text bytes.Buffer
		ndjson(t, &text, events)
		if _, errs, code := preismon(t, nil, "ingest", "--nats-url", nats, "--rejects", filepath.Join(t.TempDir(), "rejects"), file(t, "events.ndjson", text.String())); code != 0 {
			t.Fatal(errs)
		}
	}
	project := func() *role {
		t.Helper()
		r := startRole(t, "projector", "--nats-url", nats, "--clickhouse-dsn", ch.ProjectorDSN, "--admin-listen", "127.0.0.1:0")
		eventually(t, time.Minute, "it reads both streams", func() bool { return strings.Count(r.stderr.String(), "stream open") >= 2 })
		return r
	}
	before := project()
	publish(slices.Concat(catalogue, observations[:half]))
	waitApplied(t, nats)
	before.terminate()

	// Beyond the checkpoint: the last event's rows as those of the next one.
	for _, table := range []string{"observations", "observations_by_mandate", "latest_observations"} {
		newer := "captured_at + toIntervalDay(1) AS captured_at"
		if table == "observations_by_mandate" {
			newer = "captured_desc - 86400000 AS captured_desc"
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" SELECT * REPLACE (seq + 1 AS seq, "+newer+") FROM (SELECT * FROM "+table+
			" WHERE seq = (SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS'))"); err != nil {
			t.Fatal(err)
		}
	}
	publish(observations[half:])
	after := project()
	waitApplied(t, nats)
	settle(t, db)
	exact(t, db, slices.Values(observations), chain())
	noDoubles(t, db)
	for _, says := range []string{"lease given back", "removed rows of events that the stream lost"} {
		if strings.Count(after.stderr.String(), says) != 1 {
			t.Errorf("the log does not say once: %s", says)
		}
	}
}
