package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestDeadLetters: letters are listed newest first and by reason, replayed to
// where their event belongs, marked as replayed, and refused if a replay would
// do harm.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	ctx := t.Context()
	send := func(subject string, e *event.Event, change func(string) string) {
		t.Helper()
		body := must.Get(event.Encode(e))(t)
		m := &nats.Msg{Subject: subject, Data: []byte(change(string(body))), Header: nats.Header{jetstream.MsgIDHeader: {e.ID}}}
		must.Get(js.PublishMsg(ctx, m))(t)
	}
	same := func(s string) string { return s }
	send("observations.elsewhere", observations(1, 1), same)                                           // a valid event
	send("observations.shop-2=example", observations(2, 1), func(string) string { return "no event" }) // no event
	send("catalog.item.1", item(9, 1), same)                                                           // a record that was not published again since
	send("catalog.item.2", item(7, 1), same)                                                           // one that was
	send("observations.shop", item(5, 1), same)                                                        // a record in the wrong stream
	send("observations.other", item(7, 1), same)
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{}, sink)
	c.reach(t, js)
	publish(t, nc, item(7, 2))
	c.reach(t, js)

	d := ingest.NewDeadLetters(js)
	list, n, err := d.List(ctx, ingest.LetterFilter{})
	if err != nil || n != 6 || len(list) != 6 {
		t.Fatalf("%d letters %+v %v", n, list, err)
	}
	by := map[string]ingest.DeadLetter{}
	for i, l := range list {
		by[l.Stream+" "+l.Subject] = l
		if i > 0 && l.Letter >= list[i-1].Letter {
			t.Errorf("letter %d after %d", l.Letter, list[i-1].Letter)
		}
		if l.Data != nil || l.Size == 0 || l.At.IsZero() || l.Epoch == 0 || l.Replayed != nil {
			t.Errorf("%+v", l)
		}
	}
	for what, c := range map[string]struct {
		f    ingest.LetterFilter
		want int
	}{
		"by reason":  {ingest.LetterFilter{Reason: "BELONGS to observations.shop-1"}, 1},
		"by stream":  {ingest.LetterFilter{Stream: event.StreamCatalog}, 2},
		"since then": {ingest.LetterFilter{Since: time.Now().Add(-time.Minute)}, 6},
		"since now":  {ingest.LetterFilter{Since: time.Now().Add(time.Minute)}, 0},
		"newest two": {ingest.LetterFilter{Limit: 2}, 2},
		"pending":    {ingest.LetterFilter{Pending: true}, 6},
	} {
		if got, _, err := d.List(ctx, c.f); err != nil || len(got) != c.want {
			t.Errorf("%s: %d letters, want %d: %v", what, len(got), c.want, err)
		}
	}

	end := func(stream string) uint64 {
		t.Helper()
		n := must.Get(ingest.End(ctx, js, stream))(t)
		return n
	}
	replay := func(l ingest.DeadLetter, force, dry bool) (ingest.Replayed, error) {
		return d.Replay(ctx, ingest.ReplayRequest{Letter: l.Letter, Force: force, DryRun: dry})
	}
	refused := func(l ingest.DeadLetter, words string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			if _, err := replay(l, false, dry); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), words) {
				t.Errorf("letter of %s: %v, want %q", l.Subject, err, words)
			}
		}
	}
	before := [2]uint64{end(event.StreamObservations), end(event.StreamCatalog)}
	refused(by["OBSERVATIONS observations.shop-2=example"], "would fail again: not an object")
	refused(by["CATALOG catalog.item.2"], "a newer state of catalog.item.7")
	refused(by["OBSERVATIONS observations.other"], "a newer state of catalog.item.7")
	elsewhere := by["OBSERVATIONS observations.elsewhere"]
	if r, err := replay(elsewhere, false, true); err != nil || r.Stream != event.StreamObservations || r.Seq != 0 {
		t.Errorf("a dry run: %+v %v", r, err)
	}
	if _, err := d.Replay(ctx, ingest.ReplayRequest{Letter: 1000}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no letter: %v", err)
	}
	if now := [2]uint64{end(event.StreamObservations), end(event.StreamCatalog)}; now != before {
		t.Errorf("refusals and dry runs published: %v, before %v", now, before)
	}

	for subject, to := range map[string]string{
		"OBSERVATIONS observations.elsewhere": event.StreamObservations, "CATALOG catalog.item.1": event.StreamCatalog, "OBSERVATIONS observations.shop": event.StreamCatalog,
	} {
		r, err := replay(by[subject], false, false)
		if err != nil || r.Stream != to || r.Seq != end(to) {
			t.Errorf("replay of %s: %+v %v", subject, r, err)
		}
		l, err := d.Letter(ctx, by[subject].Letter)
		if err != nil || l.Replayed == nil || l.Replayed.Stream != to || l.Replayed.Seq != r.Seq || l.Reason == "" || len(l.Data) != l.Size {
			t.Errorf("the letter after it: %+v %v", l, err)
		}
		refused(l, "it was replayed at")
	}
	// By force it is published again under another id, and the stream accepts it.
	if r, err := replay(elsewhere, true, false); err != nil || r.Seq != end(event.StreamObservations) || r.Seq != before[0]+2 {
		t.Errorf("replayed by force: %+v %v", r, err)
	}
	if _, err := replay(by["CATALOG catalog.item.2"], true, false); err != nil {
		t.Errorf("an older state by force: %v", err)
	}
	if left, _, err := d.List(ctx, ingest.LetterFilter{Pending: true}); err != nil || len(left) != 2 || left[1].Subject != "observations.shop-2=example" {
		t.Errorf("still pending: %+v %v", left, err)
	}
	c.reach(t, js)
	if p := c.Progress(); p.Poison != 6 {
		t.Errorf("what was replayed failed again: %d letters", p.Poison)
	}
	got := sink.ids(event.StreamObservations)
	if !slices.Equal(got, []string{eventID(1, 1), eventID(1, 1)}) { // tables know the id, and drop the second
		t.Errorf("the sink got %v", got)
	}
	if _, err := replay(by["OBSERVATIONS observations.shop-2=example"], true, false); err != nil {
		t.Errorf("by force what fails again: %v", err)
	}
	c.reach(t, js)
	if _, n, err := d.List(ctx, ingest.LetterFilter{}); err != nil || n != 7 {
		t.Errorf("%d letters after one more failure: %v", n, err)
	}
}

// TestReplayIntoARecreatedCatalogue: any state of the record that a recreated
// stream has is newer than a letter of the old one, whatever their sequences.
func TestReplayIntoARecreatedCatalogue(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	ctx := t.Context()
	publish(t, nc, item(1, 1), item(2, 1))
	body := must.Get(event.Encode(item(7, 1)))(t)
	must.Get(js.Publish(ctx, "catalog.item.2", body))(t)
	c := run(t, js, ingest.ConsumerConfig{}, newRecorder())
	c.reach(t, js)
	old := c.Progress().Catalog.Epoch
	must.Do(t, js.DeleteStream(ctx, event.StreamCatalog))
	must.Eventually(t, time.Minute, "the next second", func() bool { return time.Now().Unix() > int64(old) })
	streams(t, nc)
	publish(t, nc, item(7, 2))

	d := ingest.NewDeadLetters(js)
	list, _, err := d.List(ctx, ingest.LetterFilter{})
	if err != nil || len(list) != 1 || list[0].Seq != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	r := ingest.ReplayRequest{Letter: list[0].Letter}
	if _, err := d.Replay(ctx, r); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "a newer state of catalog.item.7") {
		t.Errorf("the old state: %v", err)
	}
	r.Force = true
	if done, err := d.Replay(ctx, r); err != nil || done.Seq != 2 {
		t.Errorf("by force: %+v %v", done, err)
	}
	r.Force = false
	if _, err := d.Replay(ctx, r); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "it was replayed") {
		t.Errorf("once more: %v", err)
	}
}

// TestDeadLettersOutliveTheirAge: the letter of a record that still stands in
// CATALOG is there for as long as the record; others expire.
func TestDeadLettersOutliveTheirAge(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	ctx := t.Context()
	for _, subject := range []string{"catalog.item.1", "catalog.item.2", "observations.shop"} {
		must.Get(js.Publish(ctx, subject, []byte("no event")))(t)
	}
	c := run(t, js, ingest.ConsumerConfig{}, newRecorder())
	c.reach(t, js)
	publish(t, nc, item(2, 1)) // in its place
	c.reach(t, js)
	must.Do(t, ingest.Retention{DeadLetters: 24 * time.Hour}.Apply(ctx, js, 1, time.Now()))

	d := ingest.NewDeadLetters(js)
	letters := func() (all []string) {
		t.Helper()
		list, _, err := d.List(ctx, ingest.LetterFilter{})
		must.Do(t, err)
		for _, l := range list {
			whole := must.Get(d.Letter(ctx, l.Letter))(t)
			all = append(all, fmt.Sprintln(l.Letter, l.Stream, l.Epoch > 0, l.Seq, l.Subject, l.Reason != "", string(whole.Data)))
		}
		slices.Sort(all)
		return all
	}
	was := letters()
	if n, err := d.Renew(ctx, time.Now().Add(17*time.Hour)); n != 0 || err != nil || !slices.Equal(letters(), was) {
		t.Errorf("renewed %d letters that are young: %v", n, err)
	}
	for next := uint64(4); next < 6; next++ {
		if n, err := d.Renew(ctx, time.Now().Add(19*time.Hour)); n != 1 || err != nil {
			t.Fatalf("renewed %d: %v", n, err)
		}
		is := letters()
		if len(is) != len(was) {
			t.Fatalf("%q, want as many as %q", is, was)
		}
		want := fmt.Sprintln(next, event.StreamCatalog, true, 1, "catalog.item.1", true, "no event")
		if !slices.Contains(is, want) {
			t.Errorf("%q, want %q", is, want)
		}
	}
}
