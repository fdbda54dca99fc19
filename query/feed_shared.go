package query

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"
)

// feedSight is what a tail saw at its last page. As long as it sees the same,
// neither its hashes nor its plan is made again.
type feedSight struct {
	access Access
	plan   resultsPlan
	scope  string    // see feedScope
	pages  answerKey // of what the texts of its pages depend on, besides their position; zero: not computed yet
}

// see returns the hash of what a feed covers; see feedScope.
func (s *Service) see(ctx context.Context, state *feedState, a *Access, plan *resultsPlan) (scope string, err error) {
	if seen := state.seen; seen != nil && seen.of(a.Visibility.Snapshot) && seen.access.Visibility.same(a.Visibility) {
		return seen.scope, nil
	}
	scope, err = s.feedScope(ctx, a.Visibility, plan.query.Selectors)
	state.seen = &feedSight{access: *a, plan: *plan, scope: scope}
	return scope, err
}

// seenAt reports whether the page before saw what an edge shows, which is not
// before that page, nor long ago.
func (state *feedState) seenAt(e *EdgeAt) bool {
	return e != nil && time.Since(e.QueriedAt) < edgeRest && state.At.mark().Compare(e.Watermark) <= 0 &&
		state.seen != nil && state.seen.of(e.Snapshot) && state.seen.access.Generation == e.Generation
}

// of reports whether it was seen at a snapshot.
func (seen *feedSight) of(at Snapshot) bool {
	return at != 0 && seen.access.Visibility.Snapshot == at
}

// feedAccess returns what the caller may see. A tail that an edge has just woken
// reads up to that edge, and sees what it saw before if the edge is of the same
// snapshot: the tables need not be queried for each of a thousand tails.
func (s *Service) feedAccess(ctx context.Context, p Principal, state *feedState, woke *EdgeAt) (*Access, error) {
	if !state.seenAt(woke) || s.store.check {
		return s.authorize(ctx, p)
	}
	a := state.seen.access
	a.Watermark, a.Visibility.Floor = woke.Watermark, woke.Floor
	return &a, nil
}

// sharedPage is a page of a tail as text, which is sent to all tails that
// follow the same rows from the same position.
type sharedPage struct {
	Text     []byte
	Rows     int
	At       FeedPosition    // where it ends
	Next     json.RawMessage // the state of the feed after it
	UpToDate bool
}

// pageKey is the key of the text of the page that follows a state.
func (state *feedState) pageKey(mark Watermark, limit, answerBytes int) answerKey {
	if state.seen.pages == (answerKey{}) {
		all := *state
		all.At = FeedPosition{}
		state.seen.pages = keyOf("feed lines", state.seen.access.Visibility, all)
	}
	key := state.seen.pages[:]
	for _, n := range [...]uint64{
		uint64(state.At.Epoch), state.At.Seq, uint64(state.At.Capture), uint64(state.At.Offer),
		uint64(mark.Epoch), mark.Seq, uint64(limit), uint64(answerBytes),
	} {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	return sha256.Sum256(key)
}

// shareable reports whether the text of a page depends on nothing but what its
// caller sees, so that it may be remembered. Reference prices, customer data
// and the other requested fields are read with each page.
func shareable(in *read, r FeedRequest) bool {
	return r.Lines && r.AnswerBytes > 0 && in.include == (Include{}) && in.vis.Snapshot != 0 && in.vis.Applied
}

// fillShared fills the page with the text that equal tails share, and returns
// the position that it ends at. The first of them reads and encodes it.
func (s *Service) fillShared(ctx context.Context, in *read, page *FeedPage, state *feedState, r FeedRequest) (FeedPosition, error) {
	key := state.pageKey(in.query.Watermark, page.Limit, r.AnswerBytes)
	shared, err := recallKey(ctx, s.store, "feed lines", s.store.unchanged(in.vis), key, func(ctx context.Context) (sharedPage, error) {
		own := &FeedPage{Limit: page.Limit}
		at, err := s.fillRows(ctx, in, own, state.At, r, '\n')
		if err != nil {
			return sharedPage{}, err
		}
		after := *state
		after.At = at
		next, err := json.Marshal(after)
		return sharedPage{bytes.Clone(own.Rows.buf), own.Rows.rows, at, next, own.Progress.UpToDate}, err
	})
	if err != nil {
		return FeedPosition{}, err
	}
	page.Rows = RowsJSON{buf: shared.Text, rows: shared.Rows, shared: true}
	page.Progress.UpToDate = shared.UpToDate
	page.next = shared.Next
	return shared.At, nil
}
