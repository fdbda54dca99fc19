package rest_test

import (
	"context"
	"testing"
	"time"
)

// never is longer than a test.
const never = time.Hour

// tailOfTwo follows shop-two on a node whose tails have other times than usual,
// and returns its first token.
func tailOfTwo(t *testing.T, progress, heartbeat, life time.Duration, change ...func(*settings)) (s *surface, first string, lines chan controlLine, broken chan error) {
	t.Helper()
	s = serve(t, append(change, func(set *settings) { set.throttle.Reads.Requests = 1_000 })...)
	s.rest.ShortenTails(progress, heartbeat, life)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	lines, broken = s.follow(ctx, "site=shop-two")
	begun := <-lines
	if begun.Control != "progress" || !begun.UpToDate {
		t.Fatalf("%+v", begun)
	}
	return s, begun.Token, lines, broken
}

// A tail of tables that do not move reports its progress by heartbeats, each
// with a token of its own, which lasts longer than the one before.
func TestIdleTailReportsProgress(t *testing.T) {
	t.Parallel() // it mostly waits
	s, token, lines, _ := tailOfTwo(t, 20*time.Millisecond, 300*time.Millisecond, never)
	seen, began := map[string]bool{token: true}, time.Now()
	for range 3 {
		l := <-lines
		if l.Control != "progress" || !l.UpToDate || seen[l.Token] || l.AsOf == "" {
			t.Fatalf("%+v", l)
		}
		seen[l.Token], token = true, l.Token
	}
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("three heartbeats in %v", took)
	}
	if page := s.changes("since=" + token); len(page.Data) != 0 || !page.Progress.UpToDate {
		t.Errorf("%+v", page)
	}
}

// A tail reports progress when only rows that it does not have arrive, and its
// token is then after them: a node whose tables do not have them yet refuses it,
// but not the one before.
func TestTailPassesRowsOfOthers(t *testing.T) {
	t.Parallel() // it mostly waits
	s, first, lines, _ := tailOfTwo(t, 20*time.Millisecond, never, never)
	time.Sleep(50 * time.Millisecond) // longer than between two lines
	s.store.arrive(3)
	l := <-lines
	if l.Control != "progress" || !l.UpToDate {
		t.Fatalf("%+v", l)
	}
	older := serve(t)
	if page := older.changes("since=" + first); len(page.Data) != 0 {
		t.Errorf("%+v", page)
	}
	a := older.get(feedAt+"?wait=20s&since="+l.Token, older.token(reader)) // it does not wait for that
	if a.wantProblem(t, 503, "SERVICE_UNAVAILABLE"); a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
}

// A tail ends when its time is up, with a token that continues.
func TestTailEndsInTime(t *testing.T) {
	t.Parallel() // it mostly waits
	const life = 1500 * time.Millisecond
	began, ends := time.Now(), &tailEnds{t: t}
	s, _, lines, broken := tailOfTwo(t, never, never, life, ends.of)
	end, rows := last(t, lines, broken)
	if took := time.Since(began); end.Control != "end" || end.Reason != "TIME" || rows != 0 || took < life*4/5 {
		t.Errorf("after %v: %+v", took, end)
	}
	ends.are("TIME")
	if page := s.changes("since=" + end.Token); len(page.Data) != 0 {
		t.Errorf("%+v", page)
	}
}

// For each page of rows that a tail waited for, it is reported how long the rows
// took from the node to the client; not for rows that were visible before.
func TestTailsReportTheirLag(t *testing.T) {
	t.Parallel() // it mostly waits
	lags := make(chan time.Duration, 10)
	s := serve(t, func(set *settings) {
		set.throttle.Reads.Requests = 1_000
		set.followed = func(took time.Duration) { lags <- took }
	})
	began := s.changes("site=shop-one")
	s.store.arrive(2)
	lines, broken := s.follow(t.Context(), "since="+began.Progress.Token)
	for l := range lines {
		if l.Control != "" {
			break
		}
	}
	s.store.breakDown(func(method string) error {
		if method == "Feed" {
			time.Sleep(200 * time.Millisecond)
		}
		return nil
	})
	s.store.arrive(1)
	if l := <-lines; l.RowID == "" {
		t.Fatalf("%+v", l)
	}
	<-lines
	go func() { _ = s.rest.Drain(t.Context()) }()
	last(t, lines, broken)
	if lag := <-lags; lag < 200*time.Millisecond || lag > 10*time.Second || len(lags) > 0 {
		t.Errorf("%v, and %d others", lag, len(lags))
	}
}
