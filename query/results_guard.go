package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// guard refuses reads by the size of their scope, before any row is read.
func (s *Service) guard(plan *resultsPlan, size ScopeSize) error {
	q := &plan.query
	if plan.mostPairs > 0 && size.Pairs > plan.mostPairs {
		ways := q.Selectors.advice()
		if q.Selectors.Items != "" {
			ways = " Send a new request with fewer products."
		}
		return fault.New(fault.Invalid, CodeScopeTooBroad, "The read covers %d item-site pairs, at most %d.%s", size.Pairs, plan.mostPairs, ways)
	}
	if plan.mostPairs == 0 && q.Latest == NewestRow && size.Pairs > maxLatestPairs {
		return fault.New(fault.Invalid, CodeLatestPairTooBroad,
			"latestPerPair covers %d item-site pairs, at most %d.%s", size.Pairs, maxLatestPairs, q.Selectors.advice())
	}
	if plan.mostPairs == 0 && q.Latest == NewestWhole && size.Candidates() > maxEnrichCandidates {
		return fault.New(fault.Invalid, CodeScopeTooBroad,
			"The read covers %d items at %d sites, at most %d candidates.%s", size.Items, size.Sites, maxEnrichCandidates, q.Selectors.advice())
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
		"The scope of %d pairs and the %s are jointly too broad (at most %s). Send a new request with %s.",
		size.Pairs, plan.bounds.span(), guardText(pairs, hours), plan.narrower(pairs, hours))
}

// span names what lies between the bounds.
func (b bounds) span() string {
	switch b {
	case sinceBounds:
		return "time since then"
	case fixedBounds:
		return "hours of current offers"
	}
	return "window"
}

func (s *Service) windowEnd(q *ResultsQuery) time.Time {
	if q.Window.To.IsZero() {
		return s.now()
	}
	return q.Window.To
}

// narrower describes what helps against the scan guard.
func (p *resultsPlan) narrower(pairs, hours int) string {
	scope, window := "a narrower scope", "a narrower window"
	switch {
	case p.bounds == sinceBounds:
		window = "a later since"
	case p.bounds == fixedBounds, hours == 0:
		return scope
	}
	switch {
	case hours == 0:
		return scope
	case pairs == 0, p.query.Selectors.advice() == "":
		return window
	case p.bounds == capturedBounds:
		return "a narrower scope or window"
	}
	return scope + " or " + window
}

// advice names the selectors that would narrow the scope and are not given.
func (s Selectors) advice() string {
	var ways []string
	if !s.Product() {
		ways = append(ways, "itemId")
	}
	if s.Order == 0 {
		ways = append(ways, "orderId")
	}
	if s.Site == "" {
		ways = append(ways, "site")
	}
	if !s.Product() {
		ways = append(ways, "pzn", "ean", "asin")
	}
	switch last := len(ways) - 1; last {
	case -1:
		return ""
	case 0:
		return " Narrow with " + ways[0] + "."
	default:
		return " Narrow with " + strings.Join(ways[:last], ", ") + " or " + ways[last] + "."
	}
}

// fitting adds to a refusal, if the read could name a site but does not, the
// site with the most pairs among those at which it would be accepted.
func (s *Service) fitting(ctx context.Context, plan *resultsPlan, v Visibility, refused error) error {
	f, ok := errors.AsType[*fault.Error](refused)
	if !ok || f.Code != CodeScopeTooBroad && f.Code != CodeLatestPairTooBroad || plan.query.Selectors.Site != "" || plan.mostPairs > 0 {
		return refused
	}
	pairs, err := s.store.PairsBySite(ctx, v, plan.query.Selectors)
	if err != nil {
		return refused // the refusal is useful without it
	}
	best := contracts.SiteKey("")
	for site, n := range pairs {
		if better := n > pairs[best] || n == pairs[best] && site < best; better && s.guard(plan, ScopeSize{Pairs: n, Items: n, Sites: 1}) == nil {
			best = site
		}
	}
	if best == "" {
		return refused
	}
	of := "pairs"
	if pairs[best] == 1 {
		of = "pair"
	}
	refusal := *f
	refusal.Msg += fmt.Sprintf(" What fits, for example: site %s: %d %s.", best, pairs[best], of)
	return &refusal
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

// nothing reports whether no row can match, whatever is stored.
func (q *ResultsQuery) nothing(v Visibility) bool {
	return q.Outcomes != nil && len(q.Outcomes) == 0 || q.Watermark == (Watermark{}) || q.Window.Empty() ||
		q.Selectors.Site != "" && !v.Scope.AllSites && !slices.Contains(v.Scope.Sites, q.Selectors.Site) ||
		q.Selectors.Order != 0 && !v.Scope.AllOrders && !slices.Contains(v.Scope.Orders, q.Selectors.Order)
}
