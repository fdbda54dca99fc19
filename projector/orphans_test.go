package projector_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
)

// tail is a world in which a crash cut off a batch.
type tail struct {
	*world
	applied *event.Batch // in the tables
	lost    *event.Batch // cut off; missing from the stream, too
}

// cutOff applies a batch and makes one write of the next batch fail before it
// takes effect. Then the projector dies.
func cutOff(t *testing.T, name string) *tail {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), mandate(2, 100),
		order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2}), order(2, 20, true, 0, []int{5, 6, 7, 8, 9}, []int{0, 1, 2, 3})))
	s := &tail{world: w, applied: w.observations(20)}
	w.apply(s.applied)
	s.lost = w.observations(12)
	w.conn.failOnce(name, false)
	if err := w.try(t.Context(), s.lost); err == nil {
		t.Fatal("no failure")
	}
	w.restart()
	w.exec("OPTIMIZE TABLE latest_observations FINAL") // older captures of the pairs are gone
	w.oracle = newOracleFrom(w.oracle, s.applied)
	w.seq = s.applied.Last
	return s
}

// nextBatch returns the next batch in that epoch: new events, and some of the lost
// ones that their producer published again. The oracle does not know it yet.
func (s *tail) nextBatch(in uint32) *event.Batch {
	known := s.oracle
	s.oracle = newOracle()
	b := s.observations(10)
	s.oracle, b.Epoch = known, in
	for i, n := range []int{3, 4, 5, 0} {
		b.Messages[2*i].Event = s.lost.Messages[n].Event
	}
	return b
}

// forked returns the incarnation after the loss.
func (s *tail) forked() event.Incarnation {
	return event.Incarnation{Epoch: epoch + 5, Created: epoch, Forks: []event.Fork{{Epoch: epoch + 5, After: s.applied.Last}}}
}

func (s *tail) resume(in event.Incarnation) {
	s.t.Helper()
	if seq, err := s.p.Resume(s.t.Context(), event.StreamObservations, in); err != nil || seq != s.applied.Last {
		s.t.Fatalf("Resume = %d, %v, want %d", seq, err, s.applied.Last)
	}
}

// goesOn resumes after the loss, and applies other messages in place of the lost
// ones.
func (s *tail) goesOn() {
	s.t.Helper()
	s.resume(s.forked())
	next := s.nextBatch(s.forked().Epoch)
	s.oracle.observe(next)
	s.apply(next)
	s.verify()
}

// TestLostTail lets a projector die at each write of a batch, and the stream
// lose the batch's messages. Whatever is published then, no row of the old
// batch stays next to the new ones: whether the loss was noticed, or was not
// and other messages took the sequences, or none did.
func TestLostTail(t *testing.T) {
	effort.Full(t, "a fault at each write of a batch")
	for _, name := range []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events", "checkpoints"} {
		for _, seen := range []string{"seen", "taken", "skipped"} {
			if name == "checkpoints" && seen == "seen" {
				continue // TestProofPassesLostMessages
			}
			t.Run(name+"/"+seen, func(t *testing.T) {
				s := cutOff(t, name)
				if name == "checkpoints" { // events that were ingested stay
					s.oracle.observe(s.lost)
				}
				if seen != "seen" {
					s.resume(made(epoch))
					if seen == "skipped" {
						s.seq = s.lost.Last
					}
					b := s.nextBatch(epoch)
					b.First = s.applied.Last + 1 // the stream reports nothing in between
					if err := s.try(t.Context(), b); !errors.Is(err, event.ErrForked) {
						t.Fatalf("%v, want ErrForked", err)
					}
					s.restart()
					s.seq = s.applied.Last
				}
				s.goesOn()
				s.restart()
				s.verify()
			})
		}
	}
}

// TestLostTailDeath lets the projector die again at each write that removes the
// rows of the lost batch.
func TestLostTailDeath(t *testing.T) {
	effort.Full(t, "a fault at each write of a removal")
	for _, c := range []struct {
		torn        string
		afterwards  bool
		least, most int // deaths
	}{
		{"ingested_events", true, 7, 20}, // every table has rows of the batch: fence, insert, refill, delete, refill, delete, delete
		{"observations", false, 3, 3},    // observations has none before the insert, and then those of the same pairs
	} {
		deaths := 0
		for n := 1; n <= c.most; n++ {
			s := cutOff(t, c.torn)
			if !s.die(n, c.afterwards) {
				break
			}
			deaths++
			s.restart()
			s.goesOn()
			if t.Failed() {
				t.Fatalf("torn at %s, death at write %d, after=%v", c.torn, n, c.afterwards)
			}
		}
		if deaths < c.least {
			t.Errorf("torn at %s: %d deaths", c.torn, deaths)
		}
	}
}

// die makes the nth write of Resume fail, and reports false if there are fewer
// writes.
func (s *tail) die(n int, afterwards bool) bool {
	var writes atomic.Int32
	hook := func(id string) error {
		if what(id) != "" && int(writes.Add(1)) == n {
			return errInjected
		}
		return nil
	}
	s.conn.mu.Lock()
	if afterwards {
		s.conn.after = hook
	} else {
		s.conn.before = hook
	}
	s.conn.mu.Unlock()
	_, err := s.p.Resume(s.t.Context(), event.StreamObservations, s.forked())
	if int(writes.Load()) >= n && err == nil {
		s.t.Fatalf("write %d failed and Resume did not", n)
	}
	return err != nil
}
