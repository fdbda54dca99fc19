package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/projector"
)

// TestWaitingEvent: an event beyond the checkpoint is not reported as applied,
// also where the checkpoint has a higher sequence of what the stream has lost.
func TestWaitingEvent(t *testing.T) {
	t.Parallel()
	const made, forked = 1_790_000_000, 1_790_000_500
	now := event.Incarnation{Epoch: forked, Created: made, Forks: []event.Fork{{Epoch: forked, After: 8}}}
	written := &projector.Written{Epoch: forked, Seq: 10, Rows: 3}
	for _, c := range []struct {
		stream  string
		written *projector.Written
		epoch   uint32 // of the checkpoint
		seq     uint64
		want    string
	}{
		{"OBSERVATIONS", nil, forked, 5, "not written yet: the checkpoint is 5"},
		{"OBSERVATIONS", nil, made, 12, "not written yet: the checkpoint is 12"},
		{"OBSERVATIONS", nil, 0, 0, "not written yet: the checkpoint is 0"},
		{"OBSERVATIONS", nil, forked, 10, "nothing of it"},
		{"OBSERVATIONS", written, forked, 9, "3 rows, not visible yet"},
		{"OBSERVATIONS", written, made, 12, "3 rows, not visible yet"},
		{"OBSERVATIONS", written, forked, 10, "3 rows, visible"},
		{"CATALOG", nil, forked, 5, "not written yet: the checkpoint is 5"},
		{"CATALOG", nil, made, 12, "not written yet: the checkpoint is 12"},
		{"CATALOG", nil, forked, 10, "applied"},
	} {
		at := whereabouts{message: &event.Stored{Stream: c.stream, Seq: 10}, seq: 10, now: now, written: c.written}
		at.mark.epoch, at.mark.seq = c.epoch, c.seq
		var out strings.Builder
		must.Do(t, at.print(&out))
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s, checkpoint %d of epoch %d: no %q in:\n%s", c.stream, c.seq, c.epoch, c.want, &out)
		}
	}
}

// TestLetterOfEvent: a dead letter belongs to the message that has its sequence
// now, not to one that had it before the stream lost its tail.
func TestLetterOfEvent(t *testing.T) {
	t.Parallel()
	const made, forked = 1_790_000_000, 1_790_000_500
	at := whereabouts{seq: 10, now: event.Incarnation{Epoch: forked, Created: made, Forks: []event.Fork{{Epoch: forked, After: 8}}}}
	if l := at.letterIn([]ingest.DeadLetter{{Letter: 1, Epoch: made, Seq: 10}, {Letter: 2, Epoch: forked, Seq: 9}}); l != nil {
		t.Errorf("the letter %d is of another message", l.Letter)
	}
	if l := at.letterIn([]ingest.DeadLetter{{Letter: 1, Epoch: made, Seq: 10}, {Letter: 3, Epoch: forked, Seq: 10}}); l == nil || l.Letter != 3 {
		t.Errorf("letter %+v, want 3", l)
	}
}

// trace: for an event of observations, the command reports what the tables
// have, with the mandates that have rows of it; one of the catalogue is
// reported as applied, poison as a dead letter; of an id that was never
// published nothing is known.
func (d *demoTest) trace(t *testing.T) {
	db := d.up.tables()
	trace := func(code int, id string) string {
		t.Helper()
		out, errs, got := inProcess(t, "trace", id, "--data-dir", d.up.DataDir)
		if got != code {
			t.Errorf("%s: exit code %d: %s%s", id, got, out, errs)
		}
		return out
	}
	var id string
	var seq, rows, mine, mandate uint64
	must.Do(t, db.QueryRow(`SELECT event_id, seq, rows FROM ingested_events WHERE (epoch, seq) IN (SELECT epoch, seq FROM observations_by_mandate) ORDER BY seq LIMIT 1`).Scan(&id, &seq, &rows))
	must.Do(t, db.QueryRow(`SELECT mandate, count() FROM observations_by_mandate WHERE seq = ? GROUP BY mandate ORDER BY mandate LIMIT 1`, seq).Scan(&mandate, &mine))
	contains(t, trace(0, id), fmt.Sprintf("OBSERVATIONS, sequence %d,", seq), plural(rows, "row")+", visible", fmt.Sprintf("(%d): %s", mandate, plural(mine, "row")))

	js := d.up.bus(t).js
	s := must.Get(js.Stream(t.Context(), "CATALOG"))(t)
	m := must.Get(s.GetMsg(t.Context(), s.CachedInfo().State.LastSeq))(t)
	contains(t, trace(0, m.Header.Get(jetstream.MsgIDHeader)), "CATALOG, sequence", "applied")

	poison := uuid.NewString()
	must.Get(js.Publish(t.Context(), "observations.shop-1=example", []byte("{"), jetstream.WithMsgID(poison)))(t)
	must.Eventually(t, time.Minute, "the poison is a dead letter", func() bool { return strings.Contains(trace(0, poison), "→ preismon deadletters show ") })
	contains(t, trace(exitFound, uuid.NewString()), "in no stream and not in the tables")
}
