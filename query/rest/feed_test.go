package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

type feedProgress struct {
	Token, AsOf string
	UpToDate    bool
}

type changesPage struct {
	Data     []struct{ ItemID, Site, CapturedAt, RowID string }
	Progress feedProgress
}

type controlLine struct {
	Control string `json:"_control"`
	feedProgress
	Reason, Detail, RowID, AlertID string
}

const feedAt = "/ext/v1/changes"

// begunFeed is the first answer of a feed, or of windows.
type begunFeed struct {
	Progress feedProgress
	Query    struct{ Token string }
}

func (b begunFeed) token() string { return b.Progress.Token + b.Query.Token }

// changes requests a page.
func (s *surface) changes(query string) changesPage {
	s.t.Helper()
	a := s.get(feedAt+"?"+query, s.token(reader)).want(s.t, 200)
	return decode[changesPage](s.t, a)
}

// A page of changes has the rows and a new token, in JSON and in lines, and a
// request that waits gets the first row when it arrives.
func TestFeedPagesAndWaits(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	begun := s.changes("site=shop-one")
	if len(begun.Data) != 0 || !begun.Progress.UpToDate || begun.Progress.Token == "" {
		t.Fatalf("%+v", begun)
	}
	s.store.arrive(3)
	first := s.changes("limit=2&since=" + begun.Progress.Token)
	rest := s.changes("limit=2&since=" + first.Progress.Token)
	if len(first.Data) != 2 || first.Progress.UpToDate || len(rest.Data) != 1 || !rest.Progress.UpToDate || rest.Data[0].RowID == first.Data[1].RowID {
		t.Fatalf("%+v, then %+v", first, rest)
	}
	quiet := s.get(feedAt+"?wait=1s&since="+rest.Progress.Token, s.token(reader)) // it reads twice
	for _, field := range []string{"RateLimit", "RateLimit-Policy"} {
		if text := strings.Join(quiet.Header.Values(field), ", "); strings.Count(text, `"heavy"`) != 1 || strings.Count(text, `"reads"`) != 1 {
			t.Errorf("%s: %s", field, text)
		}
	}
	r := s.request("GET", feedAt+"?since="+begun.Progress.Token, s.token(reader), nil)
	r.Header.Set("Accept", "application/x-ndjson")
	a := s.do(r)
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	var last controlLine
	if must.Do(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last)); len(lines) != 4 || last.Control != "progress" || !last.UpToDate {
		t.Errorf("%s", a.body)
	}
	waited := waiting(t, func() answer { return s.get(feedAt+"?wait=25s&since="+rest.Progress.Token, s.token(reader)) })
	s.store.arrive(1)
	if page := decode[changesPage](t, <-waited); len(page.Data) != 1 {
		t.Errorf("%+v", page)
	}
	for query, named := range map[string]string{
		"wait=26s": "wait", "wait=1m": "wait", "follow=true&limit=5": "follow", "latestPerPair=true": "latestPerPair", "cursor=x": "cursor", "since=x": "since",
		"site=shop-one&since=" + begun.Progress.Token: "since",
	} {
		if p := s.get(feedAt+"?"+query, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.Contains(p.Detail, named) {
			t.Errorf("%s: %s", query, p.Detail)
		}
	}
}

// follow opens a tail and returns its lines. After they are closed, broken has
// nil if the tail ended properly.
func (s *surface) follow(ctx context.Context, query string) (lines chan controlLine, broken chan error) {
	s.t.Helper()
	return s.tail(ctx, feedAt, query)
}

func (s *surface) tail(ctx context.Context, path, query string) (lines chan controlLine, broken chan error) {
	s.t.Helper()
	return s.tailOf(ctx, path, query, s.token(reader))
}

func (s *surface) tailOf(ctx context.Context, path, query, token string) (lines chan controlLine, broken chan error) {
	s.t.Helper()
	r := s.request("GET", path+"?follow=true&"+query, token, nil).WithContext(ctx)
	resp := must.Get(s.client.Do(r))(s.t)
	if resp.StatusCode != 200 || resp.Header.Get("X-Accel-Buffering") != "no" {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: %d %s", query, resp.StatusCode, body)
	}
	lines, broken = make(chan controlLine, 100), make(chan error, 1)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		for in.Scan() {
			var l controlLine
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				broken <- err
				return
			}
			lines <- l
		}
		broken <- in.Err()
	}()
	return lines, broken
}

// A tail sends rows when they arrive, reports its progress, reserves nothing
// while it waits, and ends with how to go on: when its node stops, with a token
// behind all that was sent; when it cannot go on, with the reason.
func TestFeedTails(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests, set.unchecked = 1_000, true })
	lines, broken := s.follow(t.Context(), "site=shop-one")
	if l := <-lines; l.Control != "progress" || !l.UpToDate {
		t.Fatalf("%+v", l)
	}
	s.store.arrive(2)
	seen := map[string]bool{}
	for len(seen) < 2 {
		if l := <-lines; l.Control == "" {
			seen[l.RowID] = true
		}
	}
	if l := <-lines; l.Control != "progress" || !l.UpToDate {
		t.Errorf("%+v", l)
	}
	if n := s.service.Stats(); n.Tails != 1 || n.FeedRows < 2 {
		t.Errorf("%+v", n)
	}
	equals.Is(t, 0, busyHeavy(s), "a tail that waits holds heavy reads")
	reset, over := s.follow(t.Context(), "")
	<-reset
	s.store.rebuild()
	for l := range reset {
		if l.Control == "reset" && l.Reason != "CHANGES_HISTORY_REBUILT" {
			t.Errorf("%+v", l)
		}
	}
	must.Do(t, <-over)
	for range lines { //nolint:revive // it was reset, too
	}
	must.Do(t, <-broken)

	lines, broken = s.follow(t.Context(), "")
	begun := <-lines
	s.store.arrive(1)
	drained := make(chan error, 1)
	var last controlLine
	rows := 0
	for l := range lines {
		if last = l; l.Control == "" {
			rows++
			go func() { drained <- s.rest.Drain(context.WithoutCancel(t.Context())) }()
		}
	}
	must.Do(t, <-broken)
	must.Do(t, <-drained)
	if rows != 1 || last.Control != "end" || last.Reason != "NODE_STOPS" || last.Token == "" || last.Token == begun.Token {
		t.Errorf("%d rows, then %+v", rows, last)
	}
	again := serve(t) // another node with the same tables
	again.store.arrive(4)
	again.store.rebuild()
	if page := again.changes("since=" + last.Token); len(page.Data) != 1 { // the row that the first node did not send
		t.Errorf("%+v", page)
	}
}

// busyHeavy returns how many heavy reads the account has running.
func busyHeavy(s *surface) int {
	a := s.get("/v1/results/stream?site=shop-one", s.token(reader))
	var left int
	_, text, _ := strings.Cut(a.Header.Get("RateLimit"), `"heavy";r=`)
	_, _ = fmt.Sscan(text, &left)
	return 7 - left // this one is the eighth
}

// A fifth tail of an account is refused, and one that ended frees its place.
func TestFeedTailsOfAnAccount(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests, set.unchecked = 1_000, true })
	ctx, cancel := context.WithCancel(t.Context())
	for range 4 {
		lines, _ := s.follow(ctx, "")
		<-lines
	}
	s.get(feedAt+"?follow=true", s.token(reader)).wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	cancel()
	for s.service.Stats().Tails > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	lines, _ := s.follow(ctx, "")
	<-lines
}

// A complete stream has a token in a trailer for a client that requests it, and
// is unchanged for one that does not.
func TestStreamGivesAChangesToken(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	const at = "/v1/results/stream?site=shop-one"
	plain := s.get(at, s.token(reader))
	r := s.request("GET", at, s.token(reader), nil)
	r.Header.Set("Prefer", "respond-async, Changes-Token")
	asked := s.do(r)
	if string(asked.body) != string(plain.body) || plain.Trailer.Get("X-Changes-Token") != "" || asked.Trailer.Get("X-Results-Complete") != "true" ||
		asked.Header.Get("Preference-Applied") != "changes-token" || plain.Header.Get("Preference-Applied") != "" {
		t.Errorf("%v %v", plain.Trailer, asked.Trailer)
	}
	s.store.arrive(1)
	if page := s.changes("since=" + asked.Trailer.Get("X-Changes-Token")); len(page.Data) != 1 {
		t.Errorf("%+v", page)
	}
	for _, query := range []string{"&latestPerPair=true", "&isPrime=true", "&brand=x"} {
		r := s.request("GET", at+query, s.token(reader), nil)
		r.Header.Set("Prefer", "changes-token")
		s.do(r).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	first := decode[struct{ Paging struct{ NextCursor string } }](t, s.get("/v1/results?site=shop-one&limit=1", s.token(reader)))
	r = s.request("GET", at+"&cursor="+first.Paging.NextCursor, s.token(reader), nil)
	r.Header.Set("Prefer", "changes-token")
	s.do(r).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	s.store.breakAfter(1)
	r = s.request("GET", at, s.token(reader), nil)
	r.Header.Set("Prefer", "changes-token")
	if resp, err := s.client.Do(r); err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err == nil || resp.Trailer.Get("X-Changes-Token") != "" {
			t.Errorf("a broken stream has %v", resp.Trailer)
		}
	}
}

// A 410 names the request to begin again with: it is accepted, and its token
// works.
func TestFeedBeginsAgain(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	const from = "capturedFrom=2026-02-01T00%3A00%3A00.000Z"
	for begun, want := range map[string]string{
		feedAt + "?site=shop-one&merchant=M+%26+x&capturedFrom=2026-02-01&includeCoverage=true&timezone=UTC": "/v1/results/stream?" + from + "&includeCoverage=true&merchant=M+%26+x&site=shop-one&timezone=UTC",
		feedAt: "/v1/results/stream",
		feedAt + "?capturedFrom=2026-02-01&capturedTo=2026-02-02T00:00:00Z":                   "/v1/results/stream?" + from + "&capturedTo=2026-02-02T00%3A00%3A00.000Z&globalScope=true",
		feedAt + "?capturedFrom=2026-02-01":                                                   "/v1/results/stream",
		alertsAt + "?site=shop-one&rule=NO_OBSERVATION&silentFor=36h":                         alertsAt + "?rule=NO_OBSERVATION&silentFor=36h&site=shop-one",
		alertsAt + "?site=shop-one&rule=PRICE_BELOW&price=9.9&currencyCode=EUR&confirm=2":     alertsAt + "?confirm=2&currencyCode=EUR&price=9.90&rule=PRICE_BELOW&site=shop-one",
		"/ext/v1/windows?orderId=5&capturedFrom=2026-02-01&bucket=week&coverageState=UNKNOWN": "/ext/v1/windows?bucket=week&" + from + "&coverageState=UNKNOWN&orderId=5",
	} {
		var first begunFeed
		if a := s.get(begun, s.token(reader)); a.StatusCode != 200 || json.Unmarshal(a.body, &first) != nil {
			t.Errorf("%s: %d %s", begun, a.StatusCode, a.body)
			continue
		}
		path, _, _ := strings.Cut(begun, "?")
		s.store.rebuild()
		p := s.get(path+"?since="+first.token(), s.token(reader)).wantProblem(t, 410, "CHANGES_HISTORY_REBUILT")
		_, named, _ := strings.Cut(p.Detail, " GET ")
		if named = strings.TrimRight(strings.Fields(named)[0], ".,:"); named != want {
			t.Errorf("%s: begin again with %s, want %s", begun, named, want)
			continue
		}
		r := s.request("GET", named, s.token(reader), nil)
		r.Header.Set("Prefer", "changes-token")
		if a := s.do(r); a.StatusCode != 200 || strings.Contains(named, "stream") && a.Trailer.Get("X-Changes-Token") == "" {
			t.Errorf("%s: %d %s", named, a.StatusCode, a.body)
		}
	}
}

// breakAfter fails results at block n.
func (m *memory) breakAfter(n int) {
	m.each = func(at int) error {
		if at >= n {
			return http.ErrBodyNotAllowed
		}
		return nil
	}
}

// windowList is an answer of windows.
type windowList struct {
	Data  []window
	Query struct{ Token string }
}

type window struct {
	CapturedFrom, CapturedTo, State, Digest string
	Rows                                    int
}

func (l *windowList) rows() (n int) {
	for _, w := range l.Data {
		n += w.Rows
	}
	return n
}
