package rest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"preismon/contracts/fault"
	"preismon/query/wire"
)

// Surface is the handler of everything that is served, and can be drained.
type Surface struct {
	api     *api
	handler http.Handler

	mu       sync.Mutex
	underWay int
	draining bool
	empty    chan struct{} // closed when it is draining and no request is in progress
}

// drainRetry is when another node, or this one's successor, accepts requests.
const drainRetry = time.Second

var errDraining = errors.New("this node stops")

func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Drain answers requests from now on with 503 and closes their connections, so
// that they go elsewhere. It returns when those in progress have ended, or with
// the error of ctx. The health check continues to be answered.
func (s *Surface) Drain(ctx context.Context) error {
	s.mu.Lock()
	if !s.draining {
		s.draining, s.empty = true, make(chan struct{})
		if s.underWay == 0 {
			close(s.empty)
		}
	}
	s.mu.Unlock()
	s.api.stop() // callers that wait for rows are told how to continue elsewhere
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Surface) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.underWay++
	}
	return !s.draining
}

func (s *Surface) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay--; s.draining && s.underWay == 0 {
		close(s.empty)
	}
}

// admit accepts requests until the surface drains.
func (s *Surface) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		if !s.enter() {
			s.refuse(w, r)
			return
		}
		defer s.leave()
		next.ServeHTTP(w, r)
	})
}

func (s *Surface) refuse(w http.ResponseWriter, r *http.Request) {
	if underContract(r.URL.Path) {
		quota, _ := s.api.throttle.Anonymous(s.api.cfg.TrustedProxies.Client(r))
		setQuota(w.Header(), quota)
	}
	w.Header().Set("Connection", "close")
	s.api.write(w, wire.ProblemOf(&fault.Error{
		Kind: fault.Unavailable, Msg: "This node is about to stop. Send the request again.", Err: errDraining, RetryAfter: drainRetry,
	}, s.api.cfg.BaseURL))
}
