package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// trace: for an event of observations, the command reports what the tables
// have, with the mandates that have rows of it; one of the catalogue is
// reported as applied, poison as a dead letter; of an id that was never
// published nothing is known.
func (d *demoTest) trace(t *testing.T) {
	db := d.up.tables()
	trace := func(code int, id string) string {
		t.Helper()
		out, errs, got := preismon(t, nil, "trace", id, "--data-dir", d.up.DataDir)
		if got != code {
			t.Errorf("%s: exit code %d: %s%s", id, got, out, errs)
		}
		return out
	}
	var id string
	var seq, rows, mine, mandate uint64
	must(t, db.QueryRow(`SELECT event_id, seq, rows FROM ingested_events WHERE (epoch, seq) IN (SELECT epoch, seq FROM observations_by_mandate) ORDER BY seq LIMIT 1`).Scan(&id, &seq, &rows))
	must(t, db.QueryRow(`SELECT mandate, count() FROM observations_by_mandate WHERE seq = ? GROUP BY mandate ORDER BY mandate LIMIT 1`, seq).Scan(&mandate, &mine))
	contains := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in:\n%s", w, text)
			}
		}
	}
	contains(trace(0, id), fmt.Sprintf("OBSERVATIONS, sequence %d,", seq), plural(rows, "row")+", visible", fmt.Sprintf("(%d): %s", mandate, plural(mine, "row")))

	js := d.up.bus(t).js
	s, err := js.Stream(t.Context(), "CATALOG")
	must(t, err)
	m, err := s.GetMsg(t.Context(), s.CachedInfo().State.LastSeq)
	must(t, err)
	contains(trace(0, m.Header.Get(jetstream.MsgIDHeader)), "CATALOG, sequence", "applied")

	poison := uuid.NewString()
	if _, err := js.Publish(t.Context(), "observations.shop-1=example", []byte("{"), jetstream.WithMsgID(poison)); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the poison is a dead letter", func() bool { return strings.Contains(trace(0, poison), "→ preismon deadletters show ") })
	contains(trace(exitFound, uuid.NewString()), "in no stream and not in the tables")
}
