package projector_test

import (
	"context"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/proxy"
)

// TestLateStatement holds a statement on its way to the server until its sender
// has given up, repeated it and continued. The server, which has not noticed
// that the sender is gone, must refuse it: otherwise rows of the past would be
// in the table twice, or rows that were granted again would be deleted.
func TestLateStatement(t *testing.T) {
	narrow := order(1, 10, true, 0, []int{1}, []int{0})
	wide := order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2})
	w := newWorld(t)
	x, through := proxy.Before(t, w.server.ProjectorDSN)
	w.cfg.Fence++
	w.cfg.KeepScopes = 10 * time.Minute
	w.p, w.conn = w.projector(through, w.cfg)
	w.apply(w.catalog(mandate(1, 100), narrow))
	w.apply(w.observations(60))
	for _, c := range []struct {
		what   string
		change *contracts.Order
	}{{"backfill", wide}, {"delete", narrow}} {
		ctx, giveUp := context.WithCancel(t.Context())
		w.conn.silence(c.what)
		x.Set(proxy.Up, proxy.Rule{Pattern: []byte("-" + c.what + "-"), Then: proxy.Hold, Act: giveUp})
		change := w.catalog(c.change)
		if err := w.try(ctx, change); err == nil {
			t.Fatalf("no %s was held", c.what)
		}
		w.conn.silence("")
		w.must(change)
		w.settle()
		w.apply(w.catalog(wide))
		w.verify()
		x.Heal()
		w.ended("%-" + c.what + "-%")
		if w.verify(); t.Failed() {
			t.Fatalf("after a late %s", c.what)
		}
	}
}

// ended waits until both statements with query ids of that pattern have ended:
// the one that was given up and its repetition.
func (w *world) ended(ids string) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		w.exec("SYSTEM FLUSH LOGS query_log")
		var n int
		w.scan("SELECT uniqExact(query_id) FROM system.query_log WHERE current_database = ? AND query_id LIKE ? AND type != 'QueryStart'", []any{w.server.Database, ids}, &n)
		if n == 2 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d statements of %s ended, want 2", n, ids)
		}
	}
}
