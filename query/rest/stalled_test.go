package rest_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// line is a connection to a server that can stall: it stays open and moves
// nothing, as with a server that is stopped.
type line struct {
	net.Listener
	to string

	mu    sync.Mutex
	moves *sync.Cond
	still bool
	gone  bool
}

// lineTo gives a line, and the server's address through it.
func lineTo(t *testing.T, dsn string) (*line, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &line{Listener: listener, to: u.Host}
	l.moves = sync.NewCond(&l.mu)
	t.Cleanup(func() {
		_ = listener.Close()
		l.set(func() { l.gone, l.still = true, false })
	})
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", l.to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go l.move(in, out)
			go l.move(out, in)
		}
	}()
	u.Host = listener.Addr().String()
	return l, u.String()
}

func (l *line) move(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		for l.still {
			l.moves.Wait()
		}
		gone := l.gone
		l.mu.Unlock()
		if n > 0 && !gone {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil && err != io.EOF || err == io.EOF || gone {
			return
		}
	}
}

func (l *line) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.moves.Broadcast()
}

func (l *line) stall(on bool) { l.set(func() { l.still = on }) }

// A ClickHouse that does not answer fails reads at the hard budget, and is
// read again when it does: RES-11a, RES-14b, ERR-12.
func TestStalledClickHouse(t *testing.T) {
	t.Parallel() // it mostly waits
	base := serveFields(t)
	base.observe(1, base.row("numbers(1)", nil))
	l, dsn := lineTo(t, base.db.QueryDSN)
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
	l.stall(true)
	for _, path := range []string{"/v1/results", "/v1/results/stream", "/v1/results?latestPerPair=true"} {
		began := time.Now()
		s.plain(path, s.token(1)).wantProblem(t, 504, "RESULTS_QUERY_TIMEOUT")
		took := time.Since(began)
		t.Logf("%s failed after %s", path, took)
		if took > 20*time.Second { // of 2 s, or 5 s where a connection is made
			t.Errorf("%s failed after %s", path, took)
		}
	}
	l.stall(false)
	works()
}
