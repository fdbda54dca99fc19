package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// A window of few pairs of a large mandate: observations_by_mandate has all
// rows of the mandate in that window next to each other, and most belong to
// other pairs. observations has the rows of each pair together, but each pair
// costs a granule or two of every part. Which of the two is less work was
// measured (contracts/decisions/006-layout.md). Reading by pair takes as long
// as passing over pairRows rows of a mandate, plus a pairShare of that for each
// pair.
const (
	pairRows       = 270_000
	pairShare      = 0.026
	rowsOfPairHour = 0.4 // about how many rows a pair has in an hour

	manyPairs  = 1_000               // are not counted any further
	openWindow = 31 * 24 * time.Hour // stands for a window without a bound
)

// pairCounts is how many pairs a read covers, at most manyPairs, and how many
// its mandate has.
type pairCounts struct{ wanted, pairs uint64 }

// byPair reports whether it is less work to read pair by pair. A read with a
// limit passes over rows until it has enough of its own.
func (n pairCounts) byPair(window time.Duration, limit, pairRows int) bool {
	pair := rowsOfPairHour * window.Hours()
	passed, own := pair*float64(n.pairs), pair*float64(n.wanted)
	if limit > 0 && own > float64(limit) {
		passed *= float64(limit) / own
	}
	return n.wanted < manyPairs && passed >= float64(pairRows)*(1+pairShare*float64(n.wanted))
}

// filled is how much of a window can have rows: captures end about now.
func filled(w contracts.Window, now time.Time) time.Duration {
	if w.From.IsZero() || w.To.IsZero() {
		return openWindow
	}
	if w.To.After(now) {
		w.To = now
	}
	return w.Length()
}

// ofFewPairs reports whether a read should be done pair by pair.
func (s *Store) ofFewPairs(ctx context.Context, v query.Visibility, q *query.ResultsQuery) (bool, error) {
	p, sc := visible(v, q.Selectors)
	window, limit := filled(q.Window, time.Now()), q.Limit
	if q.Latest != query.AllRows { // of a window; without one they have a table of their own
		limit = 0
	}
	if !sc.Pairs || sc.Products || fromLatest(q) || !(pairCounts{1, maxPairs}).byPair(window, limit, s.pairRows) {
		return false, nil
	}
	// A version always stands for the same set of pairs.
	key := questionOf(v, q.Selectors)
	n, ok := s.pairCounts.Get(key)
	if !ok {
		p.uint("at_most", manyPairs)
		if err := row(ctx, s, render("pair_counts.sql", sc, p), &n.wanted, &n.pairs); err != nil {
			return false, err
		}
		s.pairCounts.Put(key, n)
	}
	return n.byPair(window, limit, s.pairRows), nil
}

// question identifies a scope under selectors by a hash, because many are
// remembered and selectors may be long texts.
type question [sha256.Size]byte

func questionOf(v query.Visibility, sel query.Selectors) question {
	return sha256.Sum256(fmt.Appendf(nil, "%d %d %#v %#v", v.Mandate, v.Versions, v.Scope, sel))
}

const maxPairs = 1 << 20 // more than any mandate has
