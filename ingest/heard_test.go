package ingest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	lines "preismon/deploy/testserver/proxy"
	"preismon/ingest"
)

// TestHeardIsWhenItWasQueried: Progress says as of when it knows the end of the
// stream. It covers every message stored before then, however late answers are
// and whatever is requested between the end of the stream and the first
// delivery.
func TestHeardIsWhenItWasQueried(t *testing.T) {
	t.Parallel() // it waits most of its time
	nc, _ := connect(t)
	line, through := lines.Before(t, nc.ConnectedUrl())
	_, late := streams(t, dial(t, through))
	publish(t, nc, observations(0, 1))
	line.Set(lines.Down, lines.Rule{Left: -1, Late: 300 * time.Millisecond})

	type stored struct {
		at  time.Time // it was in the stream by then
		seq uint64
	}
	var mu sync.Mutex
	var known []stored
	loop := run(t, late, ingest.ConsumerConfig{Linger: time.Millisecond}, newRecorder())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			publish(t, nc, observations(n, 1))
			mu.Lock()
			known = append(known, stored{time.Now(), uint64(n + 1)})
			mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	})
	looked := 0
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		at := loop.Progress().Observations
		if at.Heard.IsZero() {
			continue
		}
		looked++
		mu.Lock()
		for _, s := range known {
			if s.at.Before(at.Heard) && s.seq > at.Last {
				t.Errorf("as of %s ago the stream's end was %d, and %d was there %s before", time.Since(at.Heard), at.Last, s.seq, at.Heard.Sub(s.at))
				cancel()
				break
			}
		}
		mu.Unlock()
	}
	publisher.Wait()
	loop.stop()
	if looked < 20 {
		t.Errorf("looked %d times only: this shows nothing", looked)
	}
}
