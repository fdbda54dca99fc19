package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestTailsReadUpToTheSamePosition: equal tails that began at different positions
// come to share their reads, although the tables move between them: tails that
// are woken together read up to the edge that woke them. Each gets every row
// once.
func TestTailsReadUpToTheSamePosition(t *testing.T) {
	w := newWorld(t, 327, 50)
	asked := w.listen()
	w.reports()
	const tails, waves = 6, 3
	from := w.mark
	w.insert(rand.New(rand.NewPCG(32, 7)), 10*tails*(waves+2), 0)
	last, mark := w.mark, from
	move := func() {
		mark = min(last, mark+(last-from)/(tails*(waves+2)))
		w.setMark(mark)
	}
	open := query.ResultsRequest{CapturedFrom: "2026-01-01T00:00:00Z"}
	all := make([]*feeder, tails)
	for i := range all {
		f := &feeder{w: w, account: accountWhole, request: open, rows: map[string]int{}, ids: map[string]bool{}, at: query.Watermark{Epoch: w.epoch, Seq: mark}}
		f.token = must.Get(f.now(open))(t)
		all[i] = f
		move()
	}
	seen := query.Edge{}
	for wave := range waves {
		edge := must.Get(w.service.Await(t.Context(), seen, query.Wait{Most: time.Minute}))(t)
		seen = edge.Edge
		asked.take()
		for _, f := range all {
			f.upTo = edge
			must.Get(f.follow(t, 1_000))(t)
			if f.seen.Watermark != edge.Watermark {
				t.Fatalf("given up to %+v, woken for %+v", f.seen, edge)
			}
			move()
		}
		want := 1
		if wave == 0 {
			want = tails // each begins at another position
		}
		equals.Is(t, want, len(asked.take("feed")), "wave %d: %d tails took statements", wave, tails)
	}
	for i, f := range all {
		want := f.expected(f.at, f.seen.Watermark)
		if len(f.ids) != len(want) || len(want) == 0 {
			t.Errorf("tail %d got %d rows of %d", i, len(f.ids), len(want))
		}
	}
}

// TestTailsShareTextOfTheSameLength: two tails that begin at the same token get
// the same rows, and no page is longer than its own tail allows.
func TestTailsShareTextOfTheSameLength(t *testing.T) {
	w := newWorld(t, 328, 50)
	from := w.mark
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	w.insert(rand.New(rand.NewPCG(32, 8)), 150, 0)
	last := w.mark
	w.setMark(from)
	open := query.ResultsRequest{CapturedFrom: "2026-01-01T00:00:00Z"}
	first := &feeder{w: w, account: accountWhole, request: open, rows: map[string]int{}, ids: map[string]bool{}, answer: 5_000}
	first.token = must.Get(first.now(open))(t)
	narrow := &feeder{w: w, account: accountWhole, request: open, rows: map[string]int{}, ids: map[string]bool{}, answer: 1_000, token: first.token}
	w.setMark(last)
	all := must.Get(first.follow(t, 1_000))(t)
	again := must.Get(narrow.follow(t, 1_000))(t)
	if len(all) == 0 || len(again) != len(all) {
		t.Fatalf("%d and %d rows", len(all), len(again))
	}
	for i := range all {
		if all[i] != again[i] {
			t.Fatalf("row %d: %v and %v", i, all[i], again[i])
		}
	}
}

// TestWokenTailsDoNotReadTheirAccess: a tail that an edge woke runs one
// statement, for its rows, also while the next checkpoint is written. Its access
// is read again if that was long ago, if the edge is before what it has seen,
// and as soon as the edge is of another state of the catalogue.
func TestWokenTailsDoNotReadTheirAccess(t *testing.T) {
	w := newWorld(t, 329, 50)
	asked := w.listen()
	w.reports()
	caller := query.Principal{Account: accountWhole}
	page := must.Get(w.service.Feed(t.Context(), caller, query.FeedRequest{Rows: query.ResultsRequest{CapturedFrom: "2026-01-01T00:00:00Z"}, Lines: true, AnswerBytes: 1 << 20}))(t)
	r := rand.New(rand.NewPCG(32, 11))
	var old query.EdgeAt
	next := func(change func(*query.EdgeAt)) (names []string, err error) {
		edge := must.Get(w.service.Await(t.Context(), page.Seen, query.Wait{Most: time.Minute}))(t)
		defer w.written.Store(w.written.Swap(nil)) // a checkpoint is being written
		asked.take()
		before := page.Progress.Token
		ask := query.FeedRequest{Lines: true, AnswerBytes: 1 << 20}.After(page)
		now := *edge
		change(edge)
		ask.UpTo = edge
		if page, err = w.service.Feed(t.Context(), caller, ask); err != nil {
			return nil, err
		}
		defer page.Rows.Release()
		if page.Progress.Token == before || page.Rows.Len() == 0 || page.Seen != now.Edge {
			t.Errorf("%d rows up to %+v, woken for %+v", page.Rows.Len(), page.Seen, now)
		}
		old = now
		for _, a := range asked.take() {
			names = append(names, a.Statement)
		}
		return names, nil
	}
	for _, c := range []struct {
		name       string
		change     func(*query.EdgeAt)
		statements []string
	}{
		{"first", func(*query.EdgeAt) {}, []string{"feed"}},
		{"second", func(*query.EdgeAt) {}, []string{"feed"}},
		{"long ago", func(e *query.EdgeAt) { e.QueriedAt = e.QueriedAt.Add(-time.Second) }, []string{"moment", "feed"}},
		{"before", func(e *query.EdgeAt) { e.Edge, e.Watermark.Seq = old.Edge, old.Watermark.Seq-1 }, []string{"moment", "feed"}},
	} {
		w.insert(r, 20, 0)
		w.setMark(w.mark)
		if names, err := next(c.change); err != nil || !slices.Equal(names, c.statements) {
			t.Errorf("%s: statements %q, want %q, %v", c.name, names, c.statements, err)
		}
	}
	w.exec("INSERT INTO accounts SELECT * REPLACE (false AS all_sites, ['alpha.example'] AS sites, version + 1 AS version) FROM accounts FINAL WHERE account = " + fmt.Sprint(uint64(accountWhole)))
	w.insert(r, 20, 0)
	w.setMark(w.mark)
	_, err := next(func(*query.EdgeAt) {})
	if gone, ok := errors.AsType[*fault.Error](err); !ok || gone.Code != query.CodeFeedScopeChanged {
		t.Errorf("after its account was narrowed: %v", err)
	}
}
