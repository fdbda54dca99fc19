package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Bounds of movers.
const (
	maxMoverPairs = 100_000
	moverPair     = 600 // approximate bytes for both sides of a pair
	// moverLookback is how old, at since, the capture that a pair is compared
	// with may be.
	moverLookback = 168 * time.Hour
	// moverRecent is the time before since in which most pairs have a capture.
	moverRecent = 25 * time.Hour
	// maxMoverOthers is the maximum number of products that a read names.
	maxMoverOthers = 1_000
)

// MoversRequest requests what moved between two instants at the pairs under its
// selectors. Of ResultsRequest it uses the selectors, globalScope, brand,
// timezone, limit and cursor.
type MoversRequest struct {
	ResultsRequest
	Since       string    `json:"since"`           // RFC 3339, or a date: its first instant
	Until       string    `json:"until,omitempty"` // RFC 3339, or a date: all of it; now at most; empty: now
	Kind        MoverKind `json:"kind,omitempty"`  // only these; the counts cover all
	OwnMerchant string    `json:"ownMerchant,omitempty"`

	each int // how many of each kind MoversPage.first holds
}

func moverKindNames() string {
	var names []string
	for _, kind := range MoverKinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// MoversPage is one page of movers, the greatest moves of a price first.
type MoversPage struct {
	Records[Mover, MoversEcho]

	first map[MoverKind][]Mover
}

// MoversEcho describes what was compared, over all pages and kinds.
type MoversEcho struct {
	Scope    string            `json:"scope"` // scoped or global
	Since    string            `json:"since"`
	Until    string            `json:"until"`
	Timezone string            `json:"timezone"`
	Pairs    uint64            `json:"pairs"`    // that the caller sees under the selectors
	Captured int               `json:"captured"` // pairs with a capture after since
	Untold   int               `json:"untold"`   // of these, not compared: their capture before was not known
	Moved    int               `json:"moved"`
	Listed   int               `json:"listed"` // of the requested kind, on all pages
	Kinds    map[MoverKind]int `json:"kinds"`  // pairs by kind; a pair may count under two
	Sites    []MoversOfSite    `json:"sites"`  // with a mover, by key
}

// MoversOfSite counts the movers of a site.
type MoversOfSite struct {
	Site  contracts.SiteKey `json:"site"`
	Moved int               `json:"moved"`
	Kinds map[MoverKind]int `json:"kinds"`
}

// Movers compares, pair by pair, what latestPerPair shows at two instants: the
// standing offer (decision 025) of the newest capture up to then. A pair
// without a capture after since did not move. What counts is when a capture was
// made: one that was made before since but arrives late moves nothing.
//
// It is accepted or refused like a read of results with the same selectors in
// the window from since to until, of at most 100,000 pairs. They are read as a
// whole, so it has only a hard budget.
func (s *Service) Movers(ctx context.Context, p Principal, r MoversRequest) (page *MoversPage, err error) {
	rows, window, until, limit, err := s.understandMovers(p, r)
	if err != nil {
		return nil, err
	}
	meaning := r
	meaning.ResultsRequest, meaning.Since = r.ResultsRequest.meaning(), fmt.Sprint(window.From.UnixMilli())
	if r.Until != "" {
		meaning.Until = fmt.Sprint(until.UnixMilli())
	}
	bound := binding{Account: p.Account, Route: "movers", Query: r, Meaning: meaning}
	position := rankedPosition{Until: window.To.UnixMilli()}
	if r.Cursor != "" {
		if err := s.seal.openCursor(bound, r.Cursor, &position); err != nil {
			return nil, err
		}
		rows.CapturedTo = fromMs(position.Until).Format(time.RFC3339Nano)
	}
	if length := fromMs(position.Until).Sub(window.From); r.GlobalScope && length > maxGlobalWindow {
		return nil, fault.New(fault.Invalid, CodeScopeTooBroad,
			"since lies %s before until: without a product, an order or a site at most 168 hours. Send a new request with a later since.", inHours(length))
	}
	plan, err := s.plan(p, rows)
	if err != nil {
		return nil, err
	}
	plan.mostPairs, plan.bounds = maxMoverPairs, sinceBounds
	plan.query.ToNow = r.Until == "" || r.each > 0
	noting(ctx).noteOpen(r.Until == "" || window.To.Before(until.Truncate(contracts.Resolution)))
	ctx, end := s.bounded(ctx, sinceBounds, &err)
	defer end()
	in, err := s.accept(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	if r.Cursor == "" {
		position.Watermark, position.Floor = in.query.Watermark, in.vis.Floor
	} else if err := in.vis.checkCursor(in.query.Watermark, position.Floor, position.Watermark); err != nil {
		return nil, err
	}
	in.query.Watermark = position.Watermark
	page = &MoversPage{Records: Records[Mover, MoversEcho]{Data: []Mover{}, Paging: Paging{Limit: limit}, Query: MoversEcho{
		Scope: in.echo.Scope, Since: formatInstant(window.From, in.zone), Until: formatInstant(fromMs(position.Until), in.zone), Timezone: in.echo.Timezone,
		Pairs: in.size.Pairs, Kinds: map[MoverKind]int{}, Sites: []MoversOfSite{},
	}}}
	if in.empty {
		return page, nil
	}
	giveBack, err := s.Charge(ctx, pageBlocks+int64(in.size.Pairs)*moverPair)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	noting(ctx).given = limit
	noting(ctx).more = true // for the time before since
	all, err := s.movers(ctx, in, r, &page.Query)
	if err != nil {
		return nil, err
	}
	page.first = firstOfKinds(all, r.each)
	page.Data, page.Paging, err = rankedPage(s, all, bound, position, limit)
	return page, err
}

// understandMovers returns what needs no data, or everything that is wrong with
// it.
func (s *Service) understandMovers(p Principal, r MoversRequest) (rows ResultsRequest, window contracts.Window, until time.Time, limit int, err error) {
	limit, wrong := pageLimit(r.Limit, MaxResultsLimit)
	rows, window, until, err = s.moversWindow(r)
	wrong = joinFaults(wrong, err)
	_, err = s.understand(p, rows)
	return rows, window, until, limit, joinFaults(wrong, err)
}

// firstOfKinds returns the first movers of each kind, at most each.
func firstOfKinds(ranked []Mover, each int) map[MoverKind][]Mover {
	first := map[MoverKind][]Mover{}
	if each == 0 {
		return first
	}
	for _, m := range ranked {
		for _, kind := range m.Kinds {
			if len(first[kind]) < each {
				first[kind] = append(first[kind], m)
			}
		}
	}
	return first
}

// moversWindow returns the read that must be acceptable for the movers to be,
// its window, which ends now at most, and the upper bound as requested, which
// may lie in the future; otherwise everything that is wrong with it except its
// time zone.
func (s *Service) moversWindow(r MoversRequest) (rows ResultsRequest, w contracts.Window, until time.Time, err error) {
	rows = r.ResultsRequest
	rows.Cursor, rows.Limit, rows.LatestPerPair, rows.GlobalScope = "", nil, true, false
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		zone = time.UTC
	}
	var wrong faults
	now := s.now().UTC()
	w.To = now
	if r.Until != "" {
		if w.To, err = contracts.ParseUpper(r.Until, zone); err != nil {
			wrong.add(invalid("until: %s.", err))
			w.To = now
		}
	}
	until = w.To
	if w.To.After(now) {
		w.To = now
	}
	if r.Since == "" {
		wrong.add(invalid("since: missing. It is an instant like 2026-03-01T08:00:00Z, or a date."))
	} else if w.From, err = contracts.ParseLower(r.Since, zone); err != nil {
		wrong.add(invalid("since: %s.", err))
	}
	switch {
	case w.From.After(now):
		wrong.add(invalid("since: lies in the future."))
	case w.From.After(w.To):
		wrong.add(invalid("until: lies before since."))
	}
	wrong.check(r.Kind == "" || slices.Contains(MoverKinds(), r.Kind), "kind: %q is none of %s.", r.Kind, moverKindNames())
	wrong.check(!r.GlobalScope || r.Everything(), "globalScope=true cannot be combined with a product, order or site. Remove globalScope or the selector.")
	wrong.check(r.GlobalScope || !r.Everything(), "since needs a product (itemId, pzn, ean, asin with asinLocale), an orderId or a site, or globalScope=true.")
	if wrong.err != nil {
		return rows, w, until, wrong.err
	}
	w = contracts.Window{From: w.From.UTC().Truncate(contracts.Resolution), To: w.To.UTC().Truncate(contracts.Resolution)}
	rows.GlobalScope = r.GlobalScope
	rows.CapturedFrom, rows.CapturedTo = w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano)
	return rows, w, until, nil
}

// movers returns all movers of the requested kind, ranked.
func (s *Service) movers(ctx context.Context, in *read, r MoversRequest, echo *MoversEcho) ([]Mover, error) {
	facts, err := s.siteFacts(ctx, in.vis)
	if err != nil {
		return nil, err
	}
	q := in.query // from since: a capture at since is the newest on both sides, or there is a newer one
	after, err := s.featured(ctx, in.vis, q, facts)
	if err != nil || len(after) == 0 {
		return nil, err
	}
	since := q.Window.From
	before, err := s.featuredBefore(ctx, in.vis, q, after, facts)
	if err != nil {
		return nil, err
	}
	own, err := s.referencesOf(ctx, in.vis, priced(after, since))
	if err != nil {
		return nil, err
	}
	var all []Mover
	zone := newZoneFormat(in.zone)
	for pair, now := range after {
		was := before[pair]
		if now.capturedMs > since.UnixMilli() {
			echo.Captured++
			if was != nil && !was.known() {
				echo.Untold++
			}
		}
		kinds := moved(was, now, r.OwnMerchant)
		if own.newlyUndercut(pair, was, now, r.OwnMerchant) {
			kinds = append(kinds, Undercut)
		}
		if len(kinds) == 0 {
			continue
		}
		echo.count(pair.Site, kinds)
		if r.Kind == "" || slices.Contains(kinds, r.Kind) {
			all = append(all, mover(pair, kinds, was, now, zone))
		}
	}
	echo.Listed = len(all)
	sortByRank(all)
	return all, nil
}

// priced returns the items with a price captured after since.
func priced(after map[contracts.Pair]*featured, since time.Time) (items []contracts.ItemID) {
	for pair, now := range after {
		if now.state == contracts.PriceObserved && now.capturedMs > since.UnixMilli() {
			items = append(items, pair.Item)
		}
	}
	return items
}

// count counts a pair that moved.
func (e *MoversEcho) count(site contracts.SiteKey, kinds []MoverKind) {
	at, found := slices.BinarySearchFunc(e.Sites, site, func(s MoversOfSite, key contracts.SiteKey) int { return cmp.Compare(s.Site, key) })
	if !found {
		e.Sites = slices.Insert(e.Sites, at, MoversOfSite{Site: site, Kinds: map[MoverKind]int{}})
	}
	e.Moved++
	e.Sites[at].Moved++
	for _, kind := range kinds {
		e.Kinds[kind]++
		e.Sites[at].Kinds[kind]++
	}
}

// featuredBefore reads the newest capture before the window of a read, of the
// pairs that have one in the window: first in the time in which most have one,
// then in the whole lookback for the products of the others.
func (s *Service) featuredBefore(ctx context.Context, v Visibility, q ResultsQuery, after map[contracts.Pair]*featured, facts siteFacts) (map[contracts.Pair]*featured, error) {
	since := q.Window.From
	q.Window, q.FromNow, q.ToNow, q.Current = contracts.Window{From: since.Add(-moverRecent), To: since}, false, false, false
	before, err := s.featured(ctx, v, q, facts)
	if err != nil {
		return nil, err
	}
	var others []contracts.ItemID
	for pair, now := range after {
		if before[pair] == nil && now.capturedMs > since.UnixMilli() {
			others = append(others, pair.Item)
		}
	}
	if len(others) == 0 {
		return before, nil
	}
	slices.Sort(others)
	others = slices.Compact(others)
	if !q.Selectors.Product() && q.Selectors.Items == "" && len(others) <= maxMoverOthers {
		q.Selectors.Items = ItemsOf(others)
	}
	q.Window = contracts.Window{From: since.Add(-moverLookback), To: since.Add(-moverRecent - contracts.Resolution)}
	earlier, err := s.featured(ctx, v, q, facts)
	maps.Copy(earlier, before)
	return earlier, err
}

// featured reads the newest capture of each pair in a window, with its standing
// offer.
func (s *Service) featured(ctx context.Context, v Visibility, q ResultsQuery, facts siteFacts) (map[contracts.Pair]*featured, error) {
	q.Standing = true
	all, texts := map[contracts.Pair]*featured{}, repeatedTexts{}
	err := s.store.Results(ctx, v, &q, func(b *Block) error {
		for i := range b.Len {
			pair, f := texts.featured(b, i, facts)
			all[pair] = f
		}
		return nil
	})
	return all, err
}
