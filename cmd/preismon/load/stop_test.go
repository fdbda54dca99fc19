package load_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/process"
	"preismon/ingest/market"
)

// TestFaultOfRollingRestart: nodes behind a balancer are replaced one after the
// other under load, and no request is dropped, refused or answered in part: a
// node that is asked to stop first reports that it is not ready, and keeps
// serving. A tail of it ends with a last line, and is continued on another node.
// The nodes compare what they remember.
func TestFaultOfRollingRestart(t *testing.T) {
	effort.Full(t, "faults under load")
	e := newEstate(t, market.Config{Seed: 8, Scale: 0.1}, 12*time.Hour)
	flags := []string{process.Compares, "--reads-per-minute", "1000000", "--heavy-at-once", "64", "--stop-delay", "2s"}
	b := newBalancer(t)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	join := func() *process.Role {
		n := e.node(flags...)
		go b.watch(watching, n)
		return n
	}
	nodes := []*process.Role{join(), join()}
	until(t, time.Minute, "the balancer has both", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.nodes) == 2 })
	readers := []*client{e.client("anna", func() string { return b.URL }), e.client("dora", func() string { return b.URL })}
	for _, c := range readers {
		c.learn(t)
	}
	old := nodes[0]
	stopping := e.client("anna", func() string { return old.URL() })
	stopping.learn(t)
	var running sync.WaitGroup
	var asked, lost atomic.Int64
	loading, end := context.WithCancel(t.Context())
	defer end()
	for _, c := range readers {
		for _, kind := range kinds {
			running.Go(func() {
				for loading.Err() == nil {
					r := c.send(context.WithoutCancel(loading), kind)
					asked.Add(1)
					if (r.status != http.StatusOK || r.wrong != nil) && lost.Add(1) <= 10 {
						t.Errorf("%+v", r)
					}
				}
			})
		}
	}
	var ended atomic.Int64
	for _, c := range readers {
		f := c.tail(c.fed(t), 40*time.Second, false)
		running.Go(func() {
			f.run(loading, func(_ time.Time, r reply) {
				asked.Add(1)
				if r.code == "NODE_STOPS" {
					ended.Add(1)
				}
				if (r.status != http.StatusOK || r.wrong != nil) && lost.Add(1) <= 10 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
	for i := range nodes {
		old = nodes[i]
		nodes[i] = join()
		process.WantCompared(t, old)
		old.Signal(syscall.SIGTERM)
		until(t, time.Second, "it is not ready", func() bool { return !old.Ready() })
		if r := stopping.send(t.Context(), sites); r.status != http.StatusOK {
			t.Errorf("not ready, but still there: %+v", r)
		}
		if err := old.Stopped(); err != nil {
			t.Error(err)
		}
		if r := stopping.send(t.Context(), sites); r.broke == nil {
			t.Errorf("after its end: %+v", r)
		}
	}
	end()
	running.Wait()
	process.WantCompared(t, nodes...)
	t.Logf("restarts=2 requests=%d lost=%d", asked.Load(), lost.Load())
	if n := ended.Load(); n < int64(len(readers)) {
		t.Errorf("%d tails ended because their node stopped, want each", n)
	}
	if asked.Load() < 100 {
		t.Errorf("only %d requests", asked.Load())
	}
}
