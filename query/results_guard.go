package query

import (
	"fmt"
	"slices"
	"time"

	"preismon/contracts/fault"
)

// guard refuses reads by the size of their scope, before any row is read.
func (s *Service) guard(plan *resultsPlan, size ScopeSize) error {
	q := &plan.query
	if q.Latest == NewestRow && size.Pairs > maxLatestPairs {
		return fault.New(fault.Invalid, CodeLatestPairTooBroad,
			"latestPerPair covers %d item-site pairs, at most %d. Narrow with itemId, orderId, site, pzn, ean or asin.", size.Pairs, maxLatestPairs)
	}
	if q.Latest == NewestWhole && size.Candidates() > maxEnrichCandidates {
		return fault.New(fault.Invalid, CodeScopeTooBroad,
			"The read covers %d items at %d sites, at most %d candidates. Narrow with itemId, orderId, site, pzn, ean or asin.", size.Items, size.Sites, maxEnrichCandidates)
	}
	pairs, hours := s.cfg.ScanGuardMaxPairs, s.cfg.ScanGuardMaxHours
	if pairs == 0 && hours == 0 {
		return nil
	}
	tooManyPairs := pairs > 0 && size.Pairs > uint64(pairs)
	tooLong := hours > 0 && (q.Window.From.IsZero() || s.windowEnd(q).Sub(q.Window.From) > time.Duration(hours)*time.Hour)
	if pairs > 0 && hours > 0 && !(tooManyPairs && tooLong) || !tooManyPairs && !tooLong {
		return nil
	}
	return fault.New(fault.Invalid, CodeScopeTooBroad,
		"The scope of %d pairs and the window are jointly too broad (at most %s). Send a new request with a narrower scope or window.", size.Pairs, guardText(pairs, hours))
}

func (s *Service) windowEnd(q *ResultsQuery) time.Time {
	if q.Window.To.IsZero() {
		return s.now()
	}
	return q.Window.To
}

func guardText(pairs, hours int) string {
	switch {
	case hours == 0:
		return fmt.Sprintf("%d pairs", pairs)
	case pairs == 0:
		return fmt.Sprintf("%d hours", hours)
	}
	return fmt.Sprintf("%d pairs and %d hours", pairs, hours)
}

// nothing tells that no row can match, whatever is stored.
func (q *ResultsQuery) nothing(v Visibility) bool {
	return q.Outcomes != nil && len(q.Outcomes) == 0 || q.Watermark == (Watermark{}) || q.Window.Empty() ||
		q.Selectors.Site != "" && !v.Scope.AllSites && !slices.Contains(v.Scope.Sites, q.Selectors.Site) ||
		q.Selectors.Order != 0 && !v.Scope.AllOrders && !slices.Contains(v.Scope.Orders, q.Selectors.Order)
}
