package projector_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// kept is the content of the streams, in memory.
type kept struct {
	t     *testing.T
	epoch uint32
	forks []event.Fork // of OBSERVATIONS
	list  map[string][]event.Stored
}

func newKept(t *testing.T) *kept { return &kept{t, epoch, nil, map[string][]event.Stored{}} }

// keep stores the messages of a batch.
func (k *kept) keep(b *event.Batch) *event.Batch {
	for _, m := range b.Messages {
		body := must.Get(event.Encode(m.Event))(k.t)
		k.put(event.Stored{Stream: b.Stream, Subject: m.Event.Subject(), Seq: m.Seq, ID: m.Event.ID, Data: body, At: time.Now()})
	}
	return b
}

func (k *kept) put(m event.Stored) { k.list[m.Stream] = append(k.list[m.Stream], m) }

// deadLetter adds a dead letter for a message.
func (k *kept) deadLetter(stream string, seq uint64) {
	k.put(event.Stored{
		Stream: event.StreamDeadLetters, Subject: event.DeadLetterSubject(stream), Seq: uint64(len(k.list[event.StreamDeadLetters]) + 1),
		Header: map[string][]string{event.HeaderStream: {stream}, event.HeaderEpoch: {strconv.Itoa(int(k.epoch))}, event.HeaderSeq: {strconv.FormatUint(seq, 10)}},
	})
}

func (k *kept) State(_ context.Context, stream string) (event.StreamState, error) {
	s := event.StreamState{Stream: stream, Incarnation: made(k.epoch)}
	if stream == event.StreamObservations && k.forks != nil {
		s.Created, s.Forks = k.forks[0].Epoch-10, k.forks
	}
	if stream == event.StreamDeadLetters {
		s.MaxAge = 24 * time.Hour
	}
	for _, m := range k.list[stream] {
		s.Last = max(s.Last, m.Seq)
	}
	return s, nil
}

func (k *kept) At(_ context.Context, stream string, seq uint64) (event.Stored, bool, error) {
	i := slices.IndexFunc(k.list[stream], func(m event.Stored) bool { return m.Seq == seq })
	if i < 0 {
		return event.Stored{}, false, nil
	}
	return k.list[stream][i], true, nil
}

func (k *kept) Read(_ context.Context, r event.ReadRequest) iter.Seq2[event.Stored, error] {
	return func(yield func(event.Stored, error) bool) {
		for _, m := range k.list[r.Stream] {
			if m.Seq >= r.First && (r.Last == 0 || m.Seq <= r.Last) && (r.Subject == "" || r.Subject == m.Subject) && !yield(m, nil) {
				return
			}
		}
	}
}

// audit runs an audit.
func (w *world) audit(streams projector.AuditStreams, content bool) *projector.Audit {
	w.t.Helper()
	cfg := projector.DefaultAuditConfig()
	cfg.Partition, cfg.Partitions = w.cfg.Partition, w.cfg.Partitions
	cfg.Conn, cfg.Streams, cfg.Content, cfg.SliceRows = w.conn, streams, content, w.slice
	a := must.Get(projector.NewAuditor(cfg))(w.t)
	out := must.Get(a.Run(w.t.Context()))(w.t)
	return out
}

// found returns the findings in short form.
func found(a *projector.Audit) (all []string) {
	for _, f := range a.Findings {
		text := fmt.Sprintf("%s %s %d", f.What, f.Where, f.Count)
		if f.Mandate != "" {
			text += " of " + f.Mandate
		}
		if f.First > 0 {
			text += fmt.Sprintf(" at %d-%d", f.First, f.Last)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// pointEvent returns an event with one row, newer than any random one, that
// mandate 1 sees.
func (w *world) pointEvent(item int) *event.Event {
	price := int64(1000 + item)
	return &event.Event{ID: newID(w.rnd), Kind: event.KindObservations, Producer: "audit", ProducedAt: start.Add(time.Hour), Data: &contracts.Observations{
		Site: siteKey(1), Observations: []contracts.Observation{{
			ItemID: contracts.ItemID(item), CapturedAt: start.Add(time.Hour), Outcome: contracts.PriceObserved,
			Offers: []contracts.Offer{{Merchant: "A merchant", Price: &price, CurrencyCode: "EUR", Title: "Ein Täfelchen \\N\t'"}},
		}},
	}}
}

// batchOf returns the events as the next batch; nil only uses up a sequence.
func (w *world) batchOf(events ...*event.Event) *event.Batch {
	b := &event.Batch{Stream: event.StreamObservations, Epoch: epoch, First: w.seq + 1, Last: w.seq + uint64(len(events))}
	for _, e := range events {
		w.seq++
		if e != nil {
			b.Messages = append(b.Messages, event.Message{Seq: w.seq, Event: e})
		}
	}
	return b
}

// save copies tables, and returns a function that restores some of them.
func (w *world) save(tables ...string) (back func(tables ...string)) {
	w.t.Helper()
	for _, table := range tables {
		w.exec("CREATE TABLE saved_" + table + " ENGINE = Memory AS SELECT * FROM " + table)
	}
	return func(tables ...string) {
		w.t.Helper()
		for _, table := range tables {
			w.exec("TRUNCATE TABLE " + table)
			w.exec("INSERT INTO " + table + " SELECT * FROM saved_" + table)
		}
	}
}

// TestAuditOfExpiredLetters: a message that cannot have been applied, and whose
// dead letter has expired, is not missing; any other is, however old it is.
func TestAuditOfExpiredLetters(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1}, []int{1}))))
	w.apply(k.keep(w.batchOf(w.pointEvent(1))))
	event1, old := k.list[event.StreamObservations][0], time.Now().Add(-48*time.Hour)
	put := func(body []byte, id, subject string, at time.Time) {
		w.apply(w.batchOf(nil))
		k.put(event.Stored{Stream: event.StreamObservations, Subject: subject, Seq: w.seq, ID: id, Data: body, At: at})
	}
	elsewhere := must.Get(event.Encode(w.pointEvent(2)))(t)
	put([]byte("no event"), "2", event1.Subject, old)
	put(elsewhere, "3", "observations.elsewhere", old)
	w.settle()
	if a := w.audit(k, false); len(a.Findings) > 0 || a.DeadLetters != 2 {
		t.Errorf("of letters that expired: %q, %d dead letters", found(a), a.DeadLetters)
	}
	lost := must.Get(event.Encode(w.pointEvent(3)))(t)
	put(elsewhere, "4", "observations.elsewhere", time.Now())
	put(lost, "5", event1.Subject, old)
	w.exec("TRUNCATE TABLE orders")
	for i := range k.list[event.StreamCatalog] {
		k.list[event.StreamCatalog][i].At = old
	}
	w.settle()
	want := []string{"lost CATALOG 1 at 2-2", "lost OBSERVATIONS 2 at 4-5"}
	equals.Slices(t, want, found(w.audit(k, false)), "found")
}

// TestAudit finds nothing in correct tables, and for each kind of damage
// reports what is wrong, where, and how much.
func TestAudit(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	w.slice = 150 // several slices
	w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2}), mandate(2, 0))))
	w.apply(k.keep(w.observations(40))) // 1 to 40
	copied := w.pointEvent(5)
	w.apply(k.keep(w.batchOf(w.pointEvent(1), w.pointEvent(2), w.pointEvent(3), w.pointEvent(4), copied))) // 41 to 45
	w.apply(k.keep(w.batchOf(copied)))                                                                     // 46 is a copy
	w.apply(w.batchOf(nil, nil))                                                                           // 47 is poison, 48 was deleted
	k.put(event.Stored{Stream: event.StreamObservations, Seq: 47, ID: "poison", Data: []byte("no event"), At: time.Now()})
	k.deadLetter(event.StreamObservations, 47)
	w.apply(k.keep(w.batchOf(w.pointEvent(6)))) // 49
	w.settle()
	for _, content := range []bool{false, true} {
		if content {
			// The copy was published under another id than its event's, and the tables
			// were rebuilt after the stream had lost its tail: everything is of its last epoch.
			k.list[event.StreamObservations][45].ID = newID(w.rnd)
			k.forks = []event.Fork{{Epoch: epoch - 5, After: 30}, {Epoch: epoch, After: 20}}
		}
		a := w.audit(k, content)
		if len(a.Findings) > 0 || a.DeadLetters != 1 || a.Copies != 1 || a.Gone != 1 || a.Records != 3 || a.Applied != 49 || a.Waiting != 0 || a.Events != 46 {
			t.Fatalf("of right tables: %+v", a)
		}
		if want := map[bool]uint64{true: 46}[content]; a.Compared != want || a.NotCompared != 0 {
			t.Errorf("compared %d, want %d", a.Compared, want)
		}
	}
	k.forks = nil

	tables := []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events", "orders"}
	back := w.save(tables...)
	for _, c := range []struct {
		what string
		sql  []string
		want []string
	}{
		{"observations", []string{
			"DELETE FROM observations WHERE seq IN (42, 43)",
			"INSERT INTO observations SELECT * FROM observations WHERE seq = 41",
			"INSERT INTO observations (item, site, captured_at, epoch, seq, capture, offer) SELECT item, site, captured_at, epoch, seq, capture, 9 FROM observations WHERE seq = 45",
		}, []string{
			"doubled observations 1 at 41-41", "foreign latest_observations 2", "foreign observations 1 at 45-45", "missing observations 2 at 42-43",
		}},
		{"content", []string{"ALTER TABLE observations UPDATE title = 'x' WHERE seq = 43 SETTINGS mutations_sync = 2"}, []string{
			"differs latest_observations 1", "differs observations 1 at 43-43", "differs observations_by_mandate 1 of 1 at 43-43",
		}},
		{"by mandate", []string{
			"DELETE FROM observations_by_mandate WHERE seq = 44",
			"INSERT INTO observations_by_mandate SELECT * FROM observations_by_mandate WHERE seq = 42",
			"INSERT INTO observations_by_mandate SELECT 2, * EXCEPT mandate FROM observations_by_mandate WHERE seq = 41",
			"ALTER TABLE observations_by_mandate UPDATE price_minor = 1 WHERE seq = 45 SETTINGS mutations_sync = 2",
		}, []string{
			"differs observations_by_mandate 1 of 1 at 45-45", "doubled observations_by_mandate 1 of 1 at 42-42",
			"foreign observations_by_mandate 1 of 2 at 41-41", "missing observations_by_mandate 1 of 1 at 44-44",
		}},
		{"events", []string{
			"DELETE FROM ingested_events WHERE seq = 41",
			"INSERT INTO ingested_events SELECT event_id, epoch, 46, captures, 0 FROM ingested_events WHERE seq = 45",
		}, []string{"doubled ingested_events 1 at 46-46", "foreign observations 1 at 41-41", "lost OBSERVATIONS 1 at 41-41"}},
		{"one event", []string{"INSERT INTO ingested_events SELECT * FROM ingested_events WHERE seq = 41"}, []string{"doubled ingested_events 1 at 41-41"}},
		{"latest and catalogue", []string{"DELETE FROM latest_observations WHERE item = 3", "TRUNCATE TABLE orders"}, []string{
			"lost CATALOG 1 at 2-2", "missing latest_observations 4",
		}},
	} {
		for _, q := range c.sql {
			w.exec(q)
		}
		a := w.audit(k, true)
		equals.Slices(t, c.want, found(a), "%s: found", c.what)
		for _, f := range a.Findings {
			if !strings.Contains(f.Text, f.Where) || strings.Contains(f.Text, "%!") {
				t.Errorf("%s: in words: %s", c.what, f.Text)
			}
		}
		for _, table := range tables {
			if slices.ContainsFunc(c.sql, func(q string) bool { return strings.Contains(q, " "+table+" ") || strings.HasSuffix(q, " "+table) }) {
				back(table)
			}
		}
	}

	streams := func(what string, want string, damage func(k *kept)) {
		t.Helper()
		worse := &kept{t, k.epoch, nil, map[string][]event.Stored{}}
		for name, list := range k.list {
			worse.list[name] = slices.Clone(list)
		}
		damage(worse)
		if got := found(w.audit(worse, false)); len(got) != 1 || got[0] != want {
			t.Errorf("%s: found %q, want %q", what, got, want)
		}
	}
	streams("no dead letter", "lost OBSERVATIONS 1 at 47-47", func(k *kept) { k.list[event.StreamDeadLetters] = nil })
	streams("the tail lost", "foreign OBSERVATIONS 6", func(k *kept) { k.list[event.StreamObservations] = k.list[event.StreamObservations][:40] })
	if a := w.audit(&kept{t, epoch + 1, nil, map[string][]event.Stored{event.StreamObservations: k.list[event.StreamObservations]}}, true); len(a.Findings) > 0 || a.Waiting != 49 || a.NotCompared != 46 {
		t.Errorf("of a stream that was recreated: %+v", a)
	}
}

// TestAuditOfTwoForks: a stream lost its tail twice, the second time further on.
// Messages that took the place of those lost first are missed, although events
// were ingested from the same sequences before.
func TestAuditOfTwoForks(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	w.apply(k.keep(w.observations(40)))
	k.epoch = epoch + 10
	k.forks = []event.Fork{{Epoch: epoch + 5, After: 29}, {Epoch: epoch + 10, After: 40}}
	k.list[event.StreamObservations] = k.list[event.StreamObservations][:29]
	w.seq = 29
	replaced := k.keep(w.observations(11)) // published in the second epoch, and never applied
	last := k.keep(w.observations(5))
	s := must.Get(k.State(t.Context(), event.StreamObservations))(t)
	if seq, err := w.p.Resume(t.Context(), event.StreamObservations, s.Incarnation); seq != 29 || err != nil {
		t.Fatalf("it resumes at %d: %v", seq, err)
	}
	last.Epoch, last.First = s.Epoch, replaced.First
	w.apply(last)
	want := []string{"lost OBSERVATIONS 11 at 30-40"}
	equals.Slices(t, want, found(w.audit(k, false)), "found")
}
