package store

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts/fault"

	"github.com/ClickHouse/ch-go"
)

var errRefused = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}

// statements counts the statements that a circuit lets pass.
type statements struct {
	*circuit
	passed int
	err    error // their result
	away   atomic.Bool
	probes atomic.Int32
}

func newStatements() *statements {
	s := &statements{err: errRefused}
	s.circuit = &circuit{probe: func(context.Context) error {
		s.probes.Add(1)
		if s.away.Load() {
			return errRefused
		}
		return nil
	}}
	s.away.Store(true)
	return s
}

func (s *statements) send(ctx context.Context) error {
	return s.guard(ctx, func() error { s.passed++; return s.err })
}

// TestCircuitFailsFastAndRecovers: after several lost connections in a row no
// statement waits, each is told when to retry, and the first one after
// ClickHouse is back passes.
func TestCircuitFailsFastAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStatements()
		for range 3 * lossesUntilAway {
			err := s.send(t.Context())
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
				t.Fatalf("while away: %v", err)
			}
		}
		if s.passed != lossesUntilAway {
			t.Errorf("%d statements waited for ClickHouse, not %d", s.passed, lossesUntilAway)
		}
		time.Sleep(time.Minute)
		if n := s.probes.Load(); n < 200 || n > 300 {
			t.Errorf("%d probes in a minute", n)
		}
		s.away.Store(false)
		s.err = nil
		time.Sleep(probePause + time.Millisecond)
		synctest.Wait()
		for range 100 {
			if err := s.send(t.Context()); err != nil {
				t.Fatalf("back again: %v", err)
			}
		}
		last := s.probes.Load()
		time.Sleep(time.Minute)
		if s.probes.Load() != last {
			t.Error("it probes a ClickHouse that is not away")
		}
	})
}

// TestCircuitCountsOnlyLostConnections: any answer, even an error, shows that
// ClickHouse is there; a statement that its caller ended shows nothing.
func TestCircuitCountsOnlyLostConnections(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		kind fault.Kind
		away bool
	}{
		"refused":         {t.Context(), errRefused, fault.Unavailable, true},
		"end of file":     {t.Context(), io.EOF, fault.Unavailable, true},
		"dial timeout":    {t.Context(), &net.OpError{Op: "dial", Err: context.DeadlineExceeded}, fault.Unavailable, true},
		"handshake":       {t.Context(), context.DeadlineExceeded, fault.Unavailable, true},
		"memory":          {t.Context(), &ch.Exception{Code: codeMemoryLimit}, fault.Unavailable, false},
		"dropped":         {t.Context(), &ch.Exception{Code: codeTableIsDropped}, fault.Unavailable, false},
		"a wrong query":   {t.Context(), &ch.Exception{Code: 62}, fault.Internal, false},
		"too slow":        {t.Context(), &ch.Exception{Code: codeTimeoutExceeded}, fault.Timeout, false},
		"caller left":     {ended, errRefused, fault.Internal, false},
		"caller's budget": {late, errRefused, fault.Timeout, false},
		"no row":          {t.Context(), errors.New("no rows"), fault.Internal, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStatements()
			defer s.close()
			s.err = c.err
			for range 2 * lossesUntilAway {
				if err := s.send(c.ctx); fault.KindOf(err) != c.kind {
					t.Fatalf("kind %v of %v, want %v", fault.KindOf(err), err, c.kind)
				}
			}
			if away := s.passed < 2*lossesUntilAway; away != c.away {
				t.Errorf("away: %v", away)
			}
		})
	}
}

// TestCircuitNeedsLossesInARow: a statement that is answered in between
// restarts the count.
func TestCircuitNeedsLossesInARow(t *testing.T) {
	s := newStatements()
	defer s.close()
	for n := range 10 * lossesUntilAway {
		if s.err = nil; n%lossesUntilAway != 0 {
			s.err = errRefused
		}
		_ = s.send(t.Context())
	}
	if s.passed != 10*lossesUntilAway {
		t.Errorf("%d of %d passed", s.passed, 10*lossesUntilAway)
	}
}

// TestCircuitEndsItsProbe: a store that is closed leaves nothing behind.
func TestCircuitEndsItsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		s := newStatements()
		for range lossesUntilAway {
			_ = s.send(t.Context())
		}
		s.close()
	})
}
