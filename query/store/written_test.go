package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/store"
)

// TestCheckpointsThatNobodyWrote: while the projectors write nothing, the
// checkpoints are read four times a second; they are read for each request
// while projectors write, when that is unknown, and when these tables do not
// hold what was written.
func TestCheckpointsThatNobodyWrote(t *testing.T) {
	w := newWorld(t, 74, 0)
	var reads atomic.Int64
	var written atomic.Pointer[event.Written]
	w.cfg.OnStatement = func(a store.StatementEnded) {
		if a.Statement == "moment" {
			reads.Add(1)
		}
	}
	w.cfg.Written = func(context.Context) *event.Written { return written.Load() }
	st := must.Get(store.New(w.cfg))(t)
	t.Cleanup(func() { st.Close() })
	at := func(seq uint64) *event.Written {
		return &event.Written{Partitions: []event.Marks{{"OBSERVATIONS": {Epoch: epoch, Seq: seq}}}}
	}
	const asked = 20
	check := func(what string, want uint64, atLeast, atMost int64) {
		t.Helper()
		before, began := reads.Load(), time.Now()
		for range asked {
			mark, err := st.Watermark(t.Context())
			if err != nil || mark.Seq != want {
				t.Fatalf("%s: %+v, %v, want %d", what, mark, err, want)
			}
		}
		atMost += int64(time.Since(began) / (250 * time.Millisecond)) // on a slow machine
		if n := reads.Load() - before; n < atLeast || n > atMost {
			t.Errorf("%s: %d statements for %d questions, want %d to %d", what, n, asked, atLeast, atMost)
		}
	}
	mark := w.mark
	check("nobody can tell", mark, asked, asked)
	written.Store(at(mark))
	check("nothing is written", mark, 1, 1)
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(epoch), mark+1)
	check("somebody tells nobody", mark, 0, 0)
	time.Sleep(300 * time.Millisecond)
	check("a moment later", mark+1, 1, 1)
	written.Store(nil)
	check("a projector writes", mark+1, asked, asked)
	written.Store(at(mark + 2))
	check("these tables are behind", mark+1, asked, asked)
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(epoch), mark+2)
	check("they have caught up", mark+2, 1, 1)
	written.Store(at(mark + 2))
	check("something was written", mark+2, 1, 1)
}

// TestRevocationThatWasNotReported: an announcement that is repeated for ever, as
// by a NATS server that lost what came after it, hides a revocation for 250 ms at
// most.
func TestRevocationThatWasNotReported(t *testing.T) {
	w := newWorld(t, 75, 0)
	w.reports()
	old := &event.Written{}
	w.cfg.Written = func(context.Context) *event.Written { return old }
	st := must.Get(store.New(w.cfg))(t)
	t.Cleanup(func() { st.Close() })
	w.serve(st)
	sees := func() bool {
		t.Helper()
		page := must.Get(w.service.Sites(t.Context(), query.Principal{Account: accountOrder}, query.SitesRequest{}))(t)
		return len(page.Data) > 0
	}
	if !sees() {
		t.Fatal("nothing is visible at first")
	}
	w.exec("INSERT INTO scopes VALUES (1, 8, 0, 0)") // and the checkpoints that announce it
	revoked, late := time.Now(), 0
	for asked := revoked; sees(); asked = time.Now() {
		if late++; asked.Sub(revoked) > 250*time.Millisecond {
			t.Fatalf("%v after the revocation it is not known", asked.Sub(revoked))
		}
	}
	t.Logf("%d answers in %v did not know of it", late, time.Since(revoked))
}
