package rest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
	"preismon/query/rest"
)

// last reads a tail to its end, which must be a proper one, and returns its
// last line and the number of rows.
func last(t *testing.T, lines chan controlLine, broken chan error) (end controlLine, rows int) {
	t.Helper()
	for l := range lines {
		if end = l; l.Control == "" {
			rows++
		}
	}
	must.Do(t, <-broken)
	return end, rows
}

// tailEnds keeps why tails ended, as their service reports it.
type tailEnds struct {
	t   *testing.T
	mu  sync.Mutex
	all []string
}

// of has a service report to it.
func (e *tailEnds) of(set *settings) { set.ended = e.add }

func (e *tailEnds) add(reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all = append(e.all, reason); !slices.Contains(rest.TailEnds(), reason) {
		e.t.Errorf("a tail ended with %q, which has no counter", reason)
	}
}

// are checks the reasons of all tails that have ended.
func (e *tailEnds) are(want ...string) {
	e.t.Helper()
	must.Eventually(e.t, 10*time.Second, "the tails have ended", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.all) >= len(want)
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.all, want) {
		e.t.Errorf("the tails ended with %q, want %q", e.all, want)
	}
}

// A tail ends a little before its access token does, and the token in its last
// line continues behind all that was sent.
func TestTailEndsBeforeItsAccessToken(t *testing.T) {
	ends := &tailEnds{t: t}
	s := serve(t, ends.of, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	issued := must.Get(s.auth.Issue(auth.Grant{Account: reader, Audience: auth.RESTAudience, Lifetime: 3 * time.Second}))(t)
	began := time.Now()
	lines, broken := s.tailOf(t.Context(), feedAt, "site=shop-one", issued.Token.Reveal())
	<-lines
	s.store.arrive(2)
	end, rows := last(t, lines, broken)
	if took := time.Since(began); end.Control != "end" || end.Reason != "ACCESS_TOKEN_EXPIRES" || rows != 2 || took < time.Second || took > 3*time.Second {
		t.Errorf("after %v, %d rows: %+v", took, rows, end)
	}
	ends.are("ACCESS_TOKEN_EXPIRES")
	s.store.arrive(1)
	if page := s.changes("since=" + end.Token); len(page.Data) != 1 {
		t.Errorf("%+v", page)
	}
}

// A tail whose node cannot read says so when its patience is over; if the node
// stops meanwhile, it says that instead.
func TestTailEndsWithoutTables(t *testing.T) {
	t.Parallel() // it mostly waits
	ends := &tailEnds{t: t}
	s := serve(t, ends.of, func(set *settings) {
		set.throttle.Reads.Requests, set.rest.Patience = 1_000, 1500*time.Millisecond
	})
	lines, broken := s.follow(t.Context(), "site=shop-one")
	begun := <-lines
	s.store.breakDown(func(method string) error {
		if method == "Feed" {
			return &fault.Error{Kind: fault.Unavailable, Msg: "No tables."}
		}
		return nil
	})
	s.store.arrive(1)
	end, rows := last(t, lines, broken)
	if end.Control != "end" || end.Reason != "UNAVAILABLE" || rows != 0 || end.Token == "" {
		t.Errorf("%d rows: %+v", rows, end)
	}
	lines, broken = s.follow(t.Context(), "site=shop-one")
	<-lines
	s.store.arrive(1)
	time.Sleep(500 * time.Millisecond)
	go func() { _ = s.rest.Drain(t.Context()) }()
	if end, _ := last(t, lines, broken); end.Control != "end" || end.Reason != "NODE_STOPS" {
		t.Errorf("%+v", end)
	}
	ends.are("UNAVAILABLE", "NODE_STOPS")
	s.store.breakDown(nil)
	again := serve(t) // another node with the same tables
	again.store.arrive(2)
	if page := again.changes("since=" + begun.Token); len(page.Data) != 2 {
		t.Errorf("%+v", page)
	}
}

// smallBuffers has a client that does not read block its answer at once.
func smallBuffers(srv *http.Server) {
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(4 << 10)
		}
	}
}

// A client that reads nothing of a tail is cut off: its answer has no proper
// end.
func TestTailOfASlowReaderIsBroken(t *testing.T) {
	t.Parallel() // it mostly waits
	var slow, broken atomic.Int32
	ends := &tailEnds{t: t}
	s := serve(t, ends.of, func(set *settings) {
		set.throttle.Reads.Requests, set.rest.Stall, set.server, set.unchecked = 1_000, time.Second, smallBuffers, true
		set.serving = func() func(rest.Served) {
			return func(v rest.Served) {
				if v.Slow {
					slow.Add(1)
				}
				if v.Broken {
					broken.Add(1)
				}
			}
		}
	})
	resp := must.Get(s.client.Do(s.request(http.MethodGet, feedAt+"?follow=true&site=shop-one", s.token(reader), nil)))(t)
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	must.Get(in.ReadString('\n'))(t)
	s.store.arrive(20_000)
	for began := time.Now(); broken.Load() == 0 && time.Since(began) < 10*time.Second; {
		time.Sleep(50 * time.Millisecond)
	}
	if _, err := io.Copy(io.Discard, in); err == nil || slow.Load() != 1 || broken.Load() != 1 {
		t.Errorf("%v, %d slow, %d broken", err, slow.Load(), broken.Load())
	}
	ends.are("broken")
}

// A tail that cannot be continued ends with the code of the 410, and one whose
// client leaves is broken.
func TestTailsReportTheirEnd(t *testing.T) {
	t.Parallel() // it mostly waits
	ends := &tailEnds{t: t}
	s := serve(t, ends.of, func(set *settings) { set.throttle.Reads.Requests, set.unchecked = 1_000, true })
	ctx, leave := context.WithCancel(t.Context())
	lines, broken := s.follow(ctx, "site=shop-one")
	<-lines
	ends.are()
	leave()
	if <-broken == nil {
		t.Error("it ended properly")
	}
	ends.are("broken")
	lines, broken = s.follow(t.Context(), "site=shop-one")
	<-lines
	s.store.rebuild()
	if end, _ := last(t, lines, broken); end.Control != "reset" || end.Reason != "CHANGES_HISTORY_REBUILT" {
		t.Errorf("%+v", end)
	}
	ends.are("broken", "CHANGES_HISTORY_REBUILT")
}
