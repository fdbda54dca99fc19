package main

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestUpOutlivesClickHouse kills the ClickHouse of an up: it comes back on the
// same ports, requests meanwhile are told to retry, and no event is lost or
// duplicated. If ClickHouse never lives long, up gives up and stops. The next up
// on the folder is given ages for its streams.
func TestUpOutlivesClickHouse(t *testing.T) {
	effort.Full(t, "kills of ClickHouse")
	t.Parallel()
	u := startUp(t, demoArgs...)
	c := newDemoTest(t, u).client(t, "anna")
	before := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	var refused atomic.Int64
	go func() { // a client that never pauses
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			resp, err := c.request("/v1/sites", nil)
			if err != nil {
				t.Errorf("without ClickHouse: %v", err)
				return
			}
			_ = resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
				refused.Add(1)
			case resp.StatusCode != http.StatusOK:
				t.Errorf("without ClickHouse: %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
			}
		}
	}()
	kill := func() (at time.Time) {
		t.Helper()
		r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
		must.Do(t, syscall.Kill(r.ClickHouse, syscall.SIGKILL))
		return time.Now()
	}
	back := func(after int) {
		t.Helper()
		must.Eventually(t, time.Minute, "ClickHouse is back", func() bool {
			r, err := embedded.ReadRuntime(u.DataDir)
			return err == nil && r.ClickHouse != after && alive(r.ClickHouse)
		})
	}

	var away []time.Duration // from each kill until requests are answered
	outlived := func(after int) {
		t.Helper()
		killed := kill()
		back(after)
		must.Eventually(t, time.Minute, "requests are answered", func() bool { status, _ := c.get("/v1/sites", nil); return status == http.StatusOK })
		away = append(away, time.Since(killed))
	}

	outlived(before.ClickHouse)
	t.Logf("requests are answered after %v, %d were refused before", away[0], refused.Load())
	if refused.Load() == 0 {
		t.Error("no request was refused: the test proves nothing")
	}
	close(stop)
	<-stopped
	after := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	if after.AdminDSN != before.AdminDSN || after.HTTPURL != before.HTTPURL {
		t.Error("ClickHouse came back on other ports")
	}

	// If it is killed as soon as it is back, up gives up after five restarts.
	for n := range 4 {
		r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
		if n < 2 {
			outlived(r.ClickHouse)
			continue
		}
		kill()
		back(r.ClickHouse)
	}
	t.Logf("from a kill until requests are answered: %v", away)
	if best, worst := slices.Min(away), slices.Max(away); best > 10*time.Second || worst > 30*time.Second { // twice the promise, because a busy machine is slower
		t.Errorf("without ClickHouse for %v at best, five seconds are promised, and %v at worst", best, worst)
	}
	kill()
	if code := u.wait(); code != exitFailed || !strings.Contains(u.stderr.String(), "after 5 restarts") {
		t.Errorf("exit code %d without ClickHouse", code)
	}
	u = startUp(t, slices.Concat([]string{"--data-dir", u.DataDir}, demoArgs, retentionArgs)...)
	t.Logf("ready after %v, with %d rows", u.Ready, exactDemo(t, u))
	t.Run("retention", func(t *testing.T) { retention(t, u) })
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")
}
