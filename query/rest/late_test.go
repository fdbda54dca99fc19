package rest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

// A read that waited for its node and was then slow is not advised to request
// less: 503 with Retry-After says that capacity was short. A read that was only
// slow gets the 504. RES-11a, ERR-12.
func TestLateForWantOfCapacity(t *testing.T) {
	t.Parallel() // it mostly waits
	const budget = time.Second
	cfg := admission.Defaults()
	cfg.Memory = admission.MinMemory
	node := admission.New(cfg)
	s := serve(t, func(set *settings) {
		set.query.Admission, set.query.SoftDeadline, set.query.HardBudget = node, budget/2, budget
	})
	s.store.breakDown(func(method string) error {
		if method == "FileEntries" || method == "Results" { // it answers when no one waits any more
			time.Sleep(budget)
			return context.DeadlineExceeded
		}
		return nil
	})
	for _, path := range []string{"/v1/orders/5/exports/history", "/v1/results?latestPerPair=true", "/v1/results/stream"} {
		t.Run(path, func(t *testing.T) {
			s.plain(path, s.token(reader)).wantProblem(t, http.StatusGatewayTimeout, "RESULTS_QUERY_TIMEOUT")
		})
	}
	const path = "/v1/orders/5/exports/history"
	other := must.Get(node.Begin(admission.WithAccount(t.Context(), narrow), false, 0))(t)
	defer other.End()
	all := other.Hold(cfg.Memory)
	go func() {
		for node.Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(budget / 2)
		all.Release()
	}()
	a := s.plain(path, s.token(reader))
	a.wantProblem(t, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE")
	if a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "waited") {
		t.Errorf("%v %s", a.Header, a.body)
	}
}
