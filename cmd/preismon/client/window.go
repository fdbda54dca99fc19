package client

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"preismon/contracts"
)

// window returns the window of the read, by the rules of the contract; without a
// lower bound there is nothing to slice. The upper bound may stay open, so that
// the newest slice includes what arrives in the meantime.
func (s *slicer) window(ctx context.Context) (w contracts.Window, err error) {
	p := s.read.Params
	if p.Get("latestPerPair") == "true" || p.Get("latestObservationPerPair") == "true" {
		return w, nil
	}
	loc, err := contracts.LoadZone(cmp.Or(p.Get("timezone"), "UTC"))
	if err != nil {
		return w, err
	}
	if text := p.Get("capturedFrom"); text != "" {
		if w.From, err = contracts.ParseLower(text, loc); err != nil {
			return w, err
		}
	}
	if text := p.Get("capturedTo"); text != "" {
		if w.To, err = contracts.ParseUpper(text, loc); err != nil {
			return w, err
		}
	}
	switch whole := w.Whole(); {
	case w.Empty() || whole.Empty(): // refused, or without rows: nothing to slice
		return contracts.Window{}, nil
	case w != contracts.Window{}:
		return whole, nil
	}
	can, err := s.c.Capabilities(ctx)
	if err != nil {
		return w, err
	}
	hours := can.Window.DefaultHours
	for _, product := range []string{"itemId", "pzn", "ean", "asin"} {
		if p.Has(product) {
			hours = can.Window.ProductHistoryHours
		}
	}
	w.From = s.c.now().Add(-time.Duration(hours) * time.Hour).Truncate(contracts.Resolution)
	return w, nil
}

// length returns how long a window is, up to now if it is open; then in whole
// minutes, as now is later with each request.
func (s *slicer) length(w contracts.Window) time.Duration {
	if w.To.IsZero() {
		w.To = s.c.now()
		return w.Length().Truncate(time.Minute)
	}
	return w.Length()
}

// cut takes a slice off a window: the earliest one if asc, otherwise the newest.
// Both ends of a window belong to it, so a slice ends a millisecond, the
// resolution of capture times, before the next one begins. after is nil if
// nothing is left.
func cut(w contracts.Window, length time.Duration, asc bool, now time.Time) (piece contracts.Window, after *contracts.Window) {
	to := w.To
	if to.IsZero() {
		to = now.Truncate(contracts.Resolution)
	}
	if asc {
		middle := w.From.Add(length)
		if !middle.Before(to) {
			return w, nil
		}
		return contracts.Window{From: w.From, To: middle.Add(-contracts.Resolution)}, &contracts.Window{From: middle, To: w.To}
	}
	middle := to.Add(-length)
	if !middle.After(w.From) {
		return w, nil
	}
	return contracts.Window{From: middle, To: w.To}, &contracts.Window{From: w.From, To: middle.Add(-contracts.Resolution)}
}

// selectors are the parameters that allow a window without globalScope.
var selectors = []string{"itemId", "pzn", "ean", "asin", "orderId", "site"}

// bounded returns the parameters for a slice. Without a selector they cover
// everything that is visible, and so need globalScope and both bounds (RES-06).
func bounded(params url.Values, w contracts.Window, now time.Time) url.Values {
	all := clone(params)
	if w.From.IsZero() {
		return all
	}
	if !slices.ContainsFunc(selectors, params.Has) {
		all.Set("globalScope", "true")
		if w.To.IsZero() {
			w.To = now
		}
	}
	all.Set("capturedFrom", Instant(w.From))
	if !w.To.IsZero() {
		all.Set("capturedTo", Instant(w.To))
	}
	return all
}

// Instant returns a time in the form of the server; of the zero time, "now".
func Instant(t time.Time) string {
	if t.IsZero() {
		return "now"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
