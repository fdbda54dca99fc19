package store_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/query"
	"preismon/query/store"
)

// TestTailsReadUpToTheSamePlace: equal tails that began at different places come
// to share their reads, while the tables move faster than all of them can read:
// who is woken together reads up to what woke them. Each gets every row once.
func TestTailsReadUpToTheSamePlace(t *testing.T) {
	w := newWorld(t, 327, 50)
	var statements atomic.Int64
	w.cfg.Asked = func(a store.Asked) {
		if a.Statement == "feed" {
			statements.Add(1)
		}
	}
	st, err := store.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w.serve(st)
	w.told("CATALOG")
	w.told("IN_FORCE")
	const tails, steps = 24, 300
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	from := w.mark
	w.insert(rand.New(rand.NewPCG(32, 7)), 10*(tails+steps), 0)
	sequences, moves := w.mark-from, uint64(0)
	mark := func() uint64 { return from + sequences*moves/(tails+steps+1) }
	step := func() {
		moves++
		w.setMark(mark())
	}
	step()
	open := query.ResultsRequest{CapturedFrom: "2026-01-01T00:00:00Z"}
	all := make([]*feeder, tails)
	for i := range all {
		f := &feeder{w: w, account: accountWhole, request: open, rows: map[string]int{}, ids: map[string]bool{}, at: query.Watermark{Epoch: w.epoch, Seq: mark()}}
		if f.token, err = f.now(open); err != nil {
			t.Fatal(err)
		}
		all[i] = f
		step()
	}
	var following sync.WaitGroup
	var there [tails]atomic.Uint64 // the sequence that each was given up to
	for i, f := range all {
		following.Go(func() {
			for {
				if _, err := f.follow(t, 1_000); err != nil {
					t.Error(err)
					return
				}
				there[i].Store(f.seen.Watermark.Seq)
				edge, err := w.service.Await(ctx, f.seen)
				if err != nil {
					return // the test is over
				}
				f.upTo = &edge
				time.Sleep(rand.N(100 * time.Millisecond)) // until it is its turn
			}
		})
	}
	for range steps {
		step()
	}
	for i := range there {
		for there[i].Load() < mark() && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	stop()
	following.Wait()
	for i, f := range all {
		want := f.expected(f.at, query.Watermark{Epoch: w.epoch, Seq: mark()})
		if len(f.ids) != len(want) || len(want) == 0 {
			t.Errorf("tail %d got %d rows of %d", i, len(f.ids), len(want))
		}
	}
	// Apart from each other they take more than 650, and more where the machine is slow.
	t.Logf("%d tails, %d moves: %d statements", tails, steps, statements.Load())
	if n := statements.Load(); n > 500 {
		t.Errorf("%d tails took %d statements for %d moves", tails, n, steps)
	}
}
