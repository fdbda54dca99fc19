package query

import (
	"context"
	"errors"
	"maps"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// maxAttempts bounds the requests that replace a refused one.
const maxAttempts = 60

// Attempts returns requests to send in place of one that was refused as too
// broad, ran out of its time budget, or has a window but no selector (RES-10b,
// GEN-G1 to GEN-G3). Each was checked by the code that accepts reads. Together
// they return what the refused request covers from its start, each row once;
// its cursor is left out, everything else is kept, and times are resolved to
// instants in UTC. Slices of a window come in the order of its sort, sites and
// items by key.
//
// There are at most 60 attempts, and never a set that omits a part: none means
// that no such set was found, that nothing is visible, or that the error is a
// different one. Where latestPerPair covers too many pairs even then, the
// attempts use latestObservationPerPair instead: their rows include each
// requested row, along with the other offers of the same captures.
func (s *Service) Attempts(ctx context.Context, p Principal, r ResultsRequest, refused error) ([]ResultsRequest, error) {
	return s.attempts(ctx, p, r, otherRead{}, refused)
}

// attempts returns the attempts of a read of rows, or of another one that covers
// the same.
func (s *Service) attempts(ctx context.Context, p Principal, r ResultsRequest, other otherRead, refused error) (_ []ResultsRequest, err error) {
	var f *fault.Error
	if !errors.As(refused, &f) {
		return nil, nil
	}
	switch {
	case f.Code == CodeScopeTooBroad, f.Code == CodeLatestPairTooBroad, f.Code == CodeQueryTimeout:
	case f.Code == CodeValidation && r.timeOnly():
	default:
		return nil, nil
	}
	r.Cursor = ""
	plan, err := s.understand(p, r)
	if err != nil {
		return nil, nil // cannot be requested in another way
	}
	ctx, end := s.bounded(withoutExplanation(ctx), capturedBounds, &err)
	defer end()
	a, err := s.authorize(ctx, p)
	if err != nil {
		return nil, err
	}
	w := &attemptFinder{
		service: s, principal: p, access: a, original: r, otherRead: other, latest: plan.query.Latest, filtered: plan.query.hides(),
		slow: f.Code == CodeQueryTimeout, measured: map[Selectors]ScopeSize{},
	}
	return w.find(ctx, part{window: plan.query.Window})
}

// hides reports whether a filter may match one row of a capture and not another
// one of its pair.
func (q *ResultsQuery) hides() bool {
	other := *q
	other.Brand = "" // is the item's
	return other.Filtered()
}

// attemptFinder looks for attempts. Its methods return nil where there are none, and
// an empty list where there is nothing to request.
type attemptFinder struct {
	otherRead
	service   *Service
	principal Principal
	access    *Access
	original  ResultsRequest
	latest    Latest
	filtered  bool // the newest set may lack a newest row
	slow      bool // original was accepted, and took too long: an attempt must be narrower
	measured  map[Selectors]ScopeSize
}

// part is a share of the request: one site or all, one item or all, in a
// window.
type part struct {
	site   contracts.SiteKey
	item   contracts.ItemID
	window contracts.Window
}

// attemptWay covers the whole by its parts of one kind.
type attemptWay func(w *attemptFinder, ctx context.Context, whole part) ([]ResultsRequest, error)

// find tries shorter windows, then sites (GEN-G3), then items; for a request
// with a time alone it tries sites first (GEN-G1), and for another read what
// that prefers.
func (w *attemptFinder) find(ctx context.Context, whole part) ([]ResultsRequest, error) {
	ways := []attemptWay{(*attemptFinder).byWindow, (*attemptFinder).bySite, (*attemptFinder).byItem, (*attemptFinder).byNewestSet}
	if w.original.timeOnly() {
		ways[0], ways[1] = ways[1], ways[0]
	}
	if w.ways != nil {
		ways = w.ways
	}
	for _, way := range ways {
		if attempts, err := way(w, ctx, whole); err != nil || attempts != nil {
			return attempts, err
		}
	}
	return nil, nil
}

func (w *attemptFinder) byWindow(ctx context.Context, whole part) ([]ResultsRequest, error) {
	if w.slow {
		return w.slices(ctx, whole, maxAttempts)
	}
	return w.cover(ctx, whole, maxAttempts)
}

func (w *attemptFinder) bySite(ctx context.Context, whole part) ([]ResultsRequest, error) {
	pairs, err := w.service.store.PairsBySite(ctx, w.access.Visibility, w.original.selectors())
	if err != nil || len(pairs) > maxAttempts || w.slow && len(pairs) == 1 {
		return nil, err
	}
	at := w.original.selectors()
	for site, n := range pairs { // a pair of a site is an item
		at.Site = site
		w.measured[at] = ScopeSize{Pairs: n, Items: n, Sites: 1}
	}
	return each(slices.Sorted(maps.Keys(pairs)), maxAttempts, func(site contracts.SiteKey, most int) ([]ResultsRequest, error) {
		at := whole
		at.site = site
		attempts, err := w.cover(ctx, at, most)
		if err != nil || attempts != nil {
			return attempts, err
		}
		return w.items(ctx, at, most)
	})
}

func (w *attemptFinder) byItem(ctx context.Context, whole part) ([]ResultsRequest, error) {
	return w.items(ctx, whole, maxAttempts)
}

// items covers a part item by item.
func (w *attemptFinder) items(ctx context.Context, of part, most int) ([]ResultsRequest, error) {
	all := w.request(of)
	items, err := w.service.store.ScopeItems(ctx, w.access.Visibility, all.selectors(), most+1)
	if err != nil || len(items) > most || w.slow && len(items) == 1 {
		return nil, err
	}
	return each(items, most, func(item contracts.ItemID, most int) ([]ResultsRequest, error) {
		one := of
		one.item = item
		return w.cover(ctx, one, most)
	})
}

// byNewestSet requests all offers of the captures of which latestPerPair
// returns the first one: site by site, or all at once.
func (w *attemptFinder) byNewestSet(ctx context.Context, whole part) ([]ResultsRequest, error) {
	if w.latest != NewestRow || w.mostPairs > 0 || w.filtered || w.slow {
		return nil, nil
	}
	sets := *w
	sets.latest, sets.original.LatestPerPair, sets.original.LatestObservationPerPair = NewestWhole, false, true
	attempts, err := sets.bySite(ctx, whole)
	if err != nil || attempts != nil {
		return attempts, err
	}
	return sets.cover(ctx, whole, 1)
}

// each covers shares one after the other, reserving room for the remaining
// ones; nil: one of them is not covered.
func each[T any](shares []T, most int, cover func(share T, most int) ([]ResultsRequest, error)) ([]ResultsRequest, error) {
	all := []ResultsRequest{}
	for i, share := range shares {
		attempts, err := cover(share, most-len(all)-(len(shares)-1-i))
		if err != nil || attempts == nil {
			return nil, err
		}
		all = append(all, attempts...)
	}
	return all, nil
}

// cover requests a part whole if that is accepted, otherwise in slices.
func (w *attemptFinder) cover(ctx context.Context, p part, most int) ([]ResultsRequest, error) {
	r := w.request(p)
	if ok, err := w.accepts(ctx, r); err != nil || ok {
		return []ResultsRequest{r}, err
	}
	return w.slices(ctx, p, most)
}

// request returns the request for a part. A window without a selector needs
// globalScope; one with a selector must not have it (RES-10c, RES-10d).
func (w *attemptFinder) request(p part) ResultsRequest {
	r := w.original
	if p.site != "" {
		r.Site = p.site
	}
	if p.item != 0 {
		r.ItemID = p.item
	}
	r.CapturedFrom, r.CapturedTo, r.GlobalScope = instant(p.window.From), instant(p.window.To), false
	r.GlobalScope = r.timeOnly()
	return r
}

// accepts reports whether a request is accepted, by the code that accepts
// reads.
func (w *attemptFinder) accepts(ctx context.Context, r ResultsRequest) (bool, error) {
	plan, err := w.service.plan(w.principal, r)
	if err == nil {
		plan.mostPairs = w.mostPairs
		window := plan.query.Window
		var in *read
		if in, err = w.service.position(ctx, plan, w.access.Visibility, Watermark{}, w.size); err == nil && w.fits != nil {
			err = w.fits(in, window)
		}
	}
	if err != nil && fault.KindOf(err) == fault.Invalid {
		return false, nil
	}
	return err == nil, err
}

// size measures each scope once: the slices of a window share one measurement.
func (w *attemptFinder) size(ctx context.Context, v Visibility, sel Selectors) (ScopeSize, error) {
	if size, ok := w.measured[sel]; ok {
		return size, nil
	}
	size, err := w.service.store.CountPairs(ctx, v, sel)
	if err == nil {
		w.measured[sel] = size
	}
	return size, err
}
