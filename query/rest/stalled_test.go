package rest_test

import (
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/proxy"
)

// While ClickHouse does not answer, reads fail at the hard budget; when it does
// again, reads succeed: RES-11a, RES-14b, ERR-12.
func TestStalledClickHouse(t *testing.T) {
	t.Parallel() // it mostly waits
	base := serveFields(t)
	base.observe(1, base.row("numbers(1)", nil))
	line, dsn := proxy.Before(t, base.db.QueryDSN)
	s := base.node(t, dsn, func(set *settings) {
		set.query.SoftDeadline, set.query.HardBudget = time.Second, 2*time.Second
	})
	works := func() {
		t.Helper()
		for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			a := s.plain("/v1/results", s.token(1))
			if a.StatusCode == 200 {
				t.Logf("works after %s", time.Since(start))
				return
			}
			if time.Since(start) > time.Minute {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
		}
	}
	works()
	// The connection stays open and moves nothing, as with a stopped server.
	line.Set(proxy.Up, proxy.Rule{Then: proxy.Hold})
	line.Set(proxy.Down, proxy.Rule{Then: proxy.Hold})
	paths := []string{"/v1/results", "/v1/results/stream", "/v1/results?latestPerPair=true"}
	answers, took := make([]answer, len(paths)), make([]time.Duration, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		all.Go(func() {
			began := time.Now()
			answers[i] = s.plain(path, s.token(1))
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	if t.Failed() { // there is no answer
		return
	}
	for i, path := range paths {
		answers[i].wantProblem(t, 504, "RESULTS_QUERY_TIMEOUT")
		t.Logf("%s failed after %s", path, took[i])
		if took[i] > 20*time.Second { // for a budget of 2 s, or 5 s where a connection is opened
			t.Errorf("%s failed after %s", path, took[i])
		}
	}
	line.Heal()
	works()
}
