package query

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// OverviewTop is how many records each list of an overview shows at most.
const OverviewTop = 10

// overviewSince is what an overview compares with if nothing is requested.
const overviewSince = "now-24h"

// overviewKinds are the movers that an overview lists, in its order.
var overviewKinds = []MoverKind{PriceDown, PriceUp, OutOfStock, BackInStock, BuyBoxWon, BuyBoxLost, Undercut}

// Lists of an overview in addition to those of movers.
const (
	AboveCheapest = "ABOVE_CHEAPEST"
	SitesList     = "SITES"
)

// OverviewRequest requests what changed and what needs attention.
type OverviewRequest struct {
	Since       string            // RFC 3339, a date, or hours or days ago like now-24h, from the next quarter of an hour on; empty: now-24h
	Site        contracts.SiteKey // only this one
	OwnMerchant string            // as in movers and positions
	Top         *int              // records of each list; nil: OverviewTop, which is also the most
	Timezone    string
}

// Overview has a list for each kind of change, then the positions above the
// cheapest offer, then the sites.
type Overview = Records[OverviewList, OverviewEcho]

// OverviewList is a list of the overview: its first records, how many there
// are, and the read that returns all.
type OverviewList struct {
	List string `json:"list"`
	// Count is how many records the whole list has; nil: it was refused.
	Count *int `json:"count"`
	// Read is the path and query of the read that lists all, page by page. The
	// read of ABOVE_CHEAPEST lists them before the other positions.
	Read      string         `json:"read"`
	Movers    []Mover        `json:"movers"`
	Positions []OwnPosition  `json:"positions"`
	Sites     []SiteStatus   `json:"sites"` // those with the most overdue pairs first
	Products  []OverviewItem `json:"products"`
	Problem   *PartProblem   `json:"problem"`
}

// OverviewItem names a product of a list.
type OverviewItem struct {
	ItemID contracts.ItemID `json:"itemId"`
	Name   *string          `json:"name"`
}

// PartProblem is why a part of an answer is missing.
type PartProblem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func problemOf(refusal *fault.Error) *PartProblem {
	return &PartProblem{Code: refusal.Code, Detail: refusal.Msg}
}

// OverviewEcho describes what is covered; nil: that part was refused.
type OverviewEcho struct {
	Since     string          `json:"since"`
	Until     string          `json:"until"` // now
	Timezone  string          `json:"timezone"`
	Movers    *OverviewMovers `json:"movers"`
	Positions *PositionCounts `json:"positions"`
	Sites     *OverviewSites  `json:"sites"`
}

// OverviewMovers counts pairs, as MoversEcho does.
type OverviewMovers struct {
	Pairs    uint64            `json:"pairs"`
	Captured int               `json:"captured"`
	Untold   int               `json:"untold"`
	Moved    int               `json:"moved"`
	Kinds    map[MoverKind]int `json:"kinds"`
}

// OverviewSites counts sites, and their pairs.
type OverviewSites struct {
	Sites          int     `json:"sites"`
	Overdue        int     `json:"overdue"` // sites with a pair that is OVERDUE
	Late           int     `json:"late"`    // sites with a pair that is late
	Pairs          int     `json:"pairs"`
	OverduePairs   int     `json:"overduePairs"`
	LatePairs      int     `json:"latePairs"`
	LastCapturedAt *string `json:"lastCapturedAt"` // the newest capture of all
}

// Overview returns in one answer what Movers, Positions and SiteStatus return,
// by their code: one read of each. The three run in parallel, each as of its
// own moment. A part that is refused by itself, such as for a missing
// permission or as too broad, is reported in its place; if all are, the
// overview is refused. Any other failure fails the whole overview.
func (s *Service) Overview(ctx context.Context, p Principal, r OverviewRequest) (*Overview, error) {
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		return nil, invalid("timezone: %s.", err)
	}
	now := s.now().UTC().Truncate(contracts.Resolution)
	since, err := overviewFrom(cmp.Or(r.Since, overviewSince), now, zone)
	if err != nil {
		return nil, err
	}
	top := OverviewTop
	if r.Top != nil {
		top = *r.Top
	}
	if top < 1 || top > OverviewTop {
		return nil, invalid("top: %d is outside 1 to %d.", top, OverviewTop)
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	o := overview{
		s: s, p: p, r: r, top: top, zone: zone, rows: ResultsRequest{Site: r.Site, Timezone: zone.String()},
		Overview: Overview{Query: OverviewEcho{Since: formatInstant(since, zone), Until: formatInstant(now, zone), Timezone: zone.String()}},
	}
	noting(ctx).open = true
	var parts [3]overviewPart
	err = inParallel(ctx, // of which the movers are explained
		func(ctx context.Context) (err error) { parts[0], err = o.movers(ctx); return err },
		func(ctx context.Context) (err error) {
			parts[1], err = o.positions(withoutExplanation(ctx))
			return err
		},
		func(ctx context.Context) (err error) { parts[2], err = o.sites(withoutExplanation(ctx)); return err },
	)
	refused := 0
	for _, part := range parts {
		o.Data = append(o.Data, part.lists...)
		if part.refused != nil {
			refused++
		}
	}
	switch {
	case err != nil && !errors.Is(err, ErrExplained):
		return nil, err
	case refused == len(parts):
		return nil, parts[0].refused
	}
	e := noting(ctx)
	e.Rows, e.Scanned, e.Bytes = new(uint64(len(overviewKinds)+2)), nil, new(uint64(s.cfg.MaxResponseBytes)) // AboveCheapest and SitesList
	if err != nil {
		return nil, err
	}
	return &o.Overview, s.nameProducts(ctx, p, o.Data)
}

// overviewStep is what relative times are rounded up to: within it, all requests
// compare with the same state, which is then read once.
const overviewStep = 15 * time.Minute

// overviewFrom parses the instant that is compared with.
func overviewFrom(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if since, ok := contracts.Ago(text, now); ok {
		if rounded := since.Truncate(overviewStep); rounded.Before(since) {
			since = rounded.Add(overviewStep)
		}
		return since, nil
	}
	since, err := contracts.ParseLower(text, zone)
	switch {
	case err != nil:
		return since, invalid("since: %s. It may also be like now-24h or now-7d.", err)
	case since.After(now):
		return since, invalid("since: lies in the future.")
	}
	return since.UTC().Truncate(contracts.Resolution), nil
}

// overview is an overview that is being built.
type overview struct {
	s    *Service
	p    Principal
	r    OverviewRequest
	top  int // records of each list
	zone *time.Location
	rows ResultsRequest // the selectors of the movers and the positions
	Overview
}

// overviewPart holds the lists of one read; refused: why it has no records.
type overviewPart struct {
	lists   []OverviewList
	refused error
}

func (o *overview) movers(ctx context.Context) (part overviewPart, err error) {
	rows := o.rows
	rows.GlobalScope = rows.Everything()
	page, err := o.s.Movers(ctx, o.p, MoversRequest{
		ResultsRequest: rows, Since: o.Query.Since, Until: o.Query.Until, OwnMerchant: o.r.OwnMerchant, each: o.top,
	})
	problem, err := part.problem(err)
	if err != nil {
		return part, err
	}
	for _, kind := range overviewKinds {
		list := o.list(string(kind), "/ext/v1/movers", url.Values{"kind": {string(kind)}, "since": {o.Query.Since}, "until": {o.Query.Until}}, problem)
		if problem == nil {
			list.Count, list.Movers = new(page.Query.Kinds[kind]), append(list.Movers, page.first[kind]...)
		}
		part.lists = append(part.lists, list)
	}
	if problem == nil {
		q := page.Query
		o.Query.Movers = &OverviewMovers{Pairs: q.Pairs, Captured: q.Captured, Untold: q.Untold, Moved: q.Moved, Kinds: q.Kinds}
	}
	return part, nil
}

func (o *overview) positions(ctx context.Context) (part overviewPart, err error) {
	rows := o.rows
	rows.Limit = new(o.top)
	page, err := o.s.Positions(ctx, o.p, PositionsRequest{ResultsRequest: rows, OwnMerchant: o.r.OwnMerchant})
	problem, err := part.problem(err)
	if err != nil {
		return part, err
	}
	list := o.list(AboveCheapest, "/ext/v1/position", url.Values{}, problem)
	if problem == nil {
		counts := &page.Query.PositionCounts
		o.Query.Positions, list.Count = counts, &counts.Above
		list.Positions = append(list.Positions, page.Data[:min(len(page.Data), counts.Above)]...)
	}
	part.lists = append(part.lists, list)
	return part, nil
}

func (o *overview) sites(ctx context.Context) (part overviewPart, err error) {
	page, err := o.s.SiteStatus(ctx, o.p, SiteStatusRequest{Site: o.r.Site, Timezone: o.r.Timezone})
	problem, err := part.problem(err)
	if err != nil {
		return part, err
	}
	list := o.list(SitesList, "/ext/v1/sites/status", url.Values{}, problem)
	if problem == nil {
		o.Query.Sites = sumSites(page)
		list.Count = &o.Query.Sites.Sites
		slices.SortStableFunc(page.Data, func(a, b SiteStatus) int {
			return cmp.Or(cmp.Compare(b.Reasons.Overdue, a.Reasons.Overdue), cmp.Compare(b.Late, a.Late))
		})
		list.Sites = append(list.Sites, page.Data[:min(len(page.Data), o.top)]...)
	}
	part.lists = append(part.lists, list)
	return part, nil
}

// sumSites adds the sites up. It compares instants as times, not by their text,
// which has an offset.
func sumSites(page *SiteStatusPage) *OverviewSites {
	sum := &OverviewSites{Sites: len(page.Data), Pairs: page.Query.Pairs}
	var newest time.Time
	for _, s := range page.Data {
		sum.OverduePairs += s.Reasons.Overdue
		sum.LatePairs += s.Late
		if s.Reasons.Overdue > 0 {
			sum.Overdue++
		}
		if s.Late > 0 {
			sum.Late++
		}
		if s.LastCapturedAt == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, *s.LastCapturedAt); err == nil && at.After(newest) {
			newest, sum.LastCapturedAt = at, s.LastCapturedAt
		}
	}
	return sum
}

// list returns a list without records.
func (o *overview) list(name, path string, read url.Values, problem *PartProblem) OverviewList {
	read.Set("timezone", o.Query.Timezone)
	if o.r.Site != "" {
		read.Set("site", string(o.r.Site))
	}
	if o.r.OwnMerchant != "" && name != SitesList {
		read.Set("ownMerchant", o.r.OwnMerchant)
	}
	return OverviewList{
		List: name, Read: path + "?" + read.Encode(), Problem: problem,
		Movers: []Mover{}, Positions: []OwnPosition{}, Sites: []SiteStatus{}, Products: []OverviewItem{},
	}
}

// problem converts an error that refuses only its part, and returns any other.
func (part *overviewPart) problem(err error) (*PartProblem, error) {
	if refusal, ok := errors.AsType[*fault.Error](err); ok && (refusal.Kind == fault.Invalid || refusal.Kind == fault.Forbidden) {
		part.refused = err
		return problemOf(refusal), nil
	}
	return nil, err
}

// nameProducts reads the names of the products on the lists.
func (s *Service) nameProducts(ctx context.Context, p Principal, lists []OverviewList) error {
	of := func(l OverviewList) (ids []contracts.ItemID) {
		for _, m := range l.Movers {
			ids = append(ids, m.ItemID)
		}
		for _, p := range l.Positions {
			ids = append(ids, p.ItemID)
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	var all []contracts.ItemID
	for _, l := range lists {
		all = append(all, of(l)...)
	}
	names, err := s.ProductNames(ctx, p, all)
	if err != nil {
		return err
	}
	for i := range lists {
		for _, id := range of(lists[i]) {
			lists[i].Products = append(lists[i].Products, OverviewItem{id, names[id]})
		}
	}
	return nil
}

// ProductNames returns the names of products, those of records that the caller
// was shown; a product without a name is left out. It makes at most one
// statement.
func (s *Service) ProductNames(ctx context.Context, p Principal, items []contracts.ItemID) (map[contracts.ItemID]*string, error) {
	names := map[contracts.ItemID]*string{}
	if len(items) == 0 {
		return names, nil
	}
	a, err := s.account(ctx, p)
	if err != nil {
		return nil, s.budget(ctx, err)
	}
	records, err := s.store.itemsOf(ctx, a.Visibility, slices.Compact(slices.Sorted(slices.Values(items))))
	if err != nil {
		return nil, s.budget(ctx, err)
	}
	for _, r := range records {
		if r.Name != "" {
			names[r.ItemID] = new(r.Name)
		}
	}
	return names, nil
}
