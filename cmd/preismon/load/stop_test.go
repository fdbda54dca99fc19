package load_test

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/process"
	"preismon/ingest/market"
)

// TestFaultOfRollingRestart: nodes behind a balancer are replaced one after
// the other under load, and no request is lost, refused or answered in part.
func TestFaultOfRollingRestart(t *testing.T) {
	testserver.Full(t, "faults under load")
	e := newEstate(t, market.Config{Seed: 8, Scale: 0.1}, 12*time.Hour)
	flags := []string{"--reads-per-minute", "1000000", "--heavy-at-once", "64", "--stop-delay", "1s"}
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
	for range 2 {
		for i := range nodes {
			old := nodes[i]
			nodes[i] = join()
			if err := old.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
	end()
	running.Wait()
	t.Logf("restarts=4 requests=%d lost=%d", asked.Load(), lost.Load())
	if asked.Load() < 100 {
		t.Errorf("only %d requests", asked.Load())
	}
}

// TestFaultOfStop: a node that is asked to stop first says that it is not
// ready, and serves on; then it refuses new requests with 503, while a stream
// that is under way goes on to its end.
func TestFaultOfStop(t *testing.T) {
	testserver.Full(t, "faults under load")
	e := newEstate(t, market.Config{Seed: 8, Scale: 0.3}, 48*time.Hour)
	n := e.node("--stop-delay", "2s", "--stop-grace", "50s")
	c := e.client("anna", n.URL)
	c.learn(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL()+"/v1/results/stream?includeExportFields=true&globalScope=true&capturedFrom="+e.from.Format(time.RFC3339)+"&capturedTo="+e.to.Format(time.RFC3339), nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true, ReadBufferSize: 4 << 10}}
	resp, err := plain.Do(req)
	must(t, err)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	in := bufio.NewReaderSize(resp.Body, 4<<10)
	_, err = in.ReadString('\n')
	must(t, err)

	n.Signal(syscall.SIGTERM)
	until(t, time.Second, "it is not ready", func() bool { return !n.Ready() })
	if r := c.send(t.Context(), sites); r.status != http.StatusOK {
		t.Errorf("not ready, but still there: %+v", r)
	}
	until(t, 10*time.Second, "it refuses new requests", func() bool {
		r := c.send(t.Context(), sites)
		if r.status == http.StatusServiceUnavailable && r.retry == 1 {
			return true
		}
		if r.status != http.StatusOK {
			t.Errorf("while it stops: %+v", r)
		}
		return false
	})
	select {
	case <-n.Ended():
		t.Fatal("it ended with a stream under way")
	default:
	}
	lines := 1
	for ; ; lines++ {
		if _, err := in.ReadString('\n'); err != nil {
			break
		}
	}
	if resp.Trailer.Get("X-Results-Complete") != "true" || resp.Trailer.Get("X-Results-Returned") != strconv.Itoa(lines) {
		t.Errorf("the stream under way ended after %d lines with %v", lines, resp.Trailer)
	}
	if err := n.Stopped(); err != nil {
		t.Error(err)
	}
	if r := c.send(t.Context(), sites); r.broke == nil {
		t.Errorf("after its end: %+v", r)
	}
}
