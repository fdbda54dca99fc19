package query

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"preismon/contracts"
)

// ChangesRequest asks what changed at pairs since an instant. Selectors and
// globalScope are those of results, with their rules for a window from since
// to now: it needs a selector or globalScope, and globalScope at most 168
// hours.
type ChangesRequest struct {
	Limit  *int   `json:"-"`
	Cursor string `json:"-"`

	Since string `json:"since"` // RFC 3339, not in the future

	OrderID     contracts.OrderID `json:"orderId,omitempty"`
	ItemID      contracts.ItemID  `json:"itemId,omitempty"`
	PZN         string            `json:"pzn,omitempty"`
	EAN         string            `json:"ean,omitempty"`
	ASINLocale  string            `json:"asinLocale,omitempty"`
	ASIN        string            `json:"asin,omitempty"`
	Site        contracts.SiteKey `json:"site,omitempty"`
	GlobalScope bool              `json:"globalScope,omitempty"`
	Timezone    string            `json:"timezone,omitempty"` // IANA
}

// ChangesPage is one page of changes, by item and site.
type ChangesPage struct {
	Data   []Change    `json:"data"`
	Paging Paging      `json:"paging"`
	Query  ChangesEcho `json:"query"`
}

// ChangesEcho is what an answer says about the read: the same until on every
// page of a walk.
type ChangesEcho struct {
	Scope    string `json:"scope"` // scoped or global
	Since    string `json:"since"`
	Until    string `json:"until"`
	Timezone string `json:"timezone"`
}

// changesLookback is how old, at since, a capture may be that a change is
// told from.
const changesLookback = 168 * time.Hour

// changesCursor is what a cursor of changes holds: the "now" of the first
// page and the snapshot that it saw.
type changesCursor struct {
	Until     int64          `json:"u"` // ms
	Watermark Watermark      `json:"w"`
	After     contracts.Pair `json:"a"`
}

// Changes lists the pairs whose newest capture until now differs from their
// newest capture at or before since, one record a pair (TOOL-01b). It compares
// what latestPerPair would show at both instants: availability, coverage
// state, price, currency and merchant of the offer that stands. A pair without a
// capture after since did not change. One without a capture in the 168 hours
// before since is FIRST_OBSERVED. What counts is when a capture was made: one
// that comes late, made before since, is no change.
//
// It is accepted or refused as a latestPerPair read of the same scope, with
// the same codes: at most 1,000 pairs. They are read as a whole, so, like
// those reads, it has a hard budget only.
func (s *Service) Changes(ctx context.Context, p Principal, r ChangesRequest) (*ChangesPage, error) {
	limit, err := pageLimit(r.Limit, MaxLimit)
	if err != nil {
		return nil, err
	}
	now := s.now().UTC()
	since, err := parseSince(r.Since, now)
	if err != nil {
		return nil, err
	}
	meaning := r
	meaning.Since, meaning.Timezone = since.Format(time.RFC3339Nano), unless(r.Timezone, "UTC")
	bound := binding{Account: p.Account, Route: "changes", Query: r, Meaning: meaning}
	place := changesCursor{Until: now.UnixMilli()}
	if r.Cursor != "" {
		if err := s.seal.openCursor(bound, r.Cursor, &place); err != nil {
			return nil, err
		}
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	in, err := s.accept(ctx, p, r.results(since, fromMs(place.Until)))
	if err != nil {
		return nil, s.budget(ctx, err)
	}
	if r.Cursor == "" {
		place.Watermark = in.query.Watermark
	}
	page := &ChangesPage{
		Data: []Change{}, Paging: Paging{Limit: limit},
		Query: ChangesEcho{
			Scope: in.echo.Scope, Since: formatInstant(since, in.zone), Until: formatInstant(fromMs(place.Until), in.zone), Timezone: in.echo.Timezone,
		},
	}
	if in.empty {
		return page, nil
	}
	giveBack, err := s.Charge(ctx, latestBytes)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	all, err := s.changes(ctx, in, place.Watermark, since)
	if err != nil {
		return nil, s.budget(ctx, err)
	}
	from, _ := slices.BinarySearchFunc(all, place.After, func(c Change, after contracts.Pair) int {
		return cmp.Or(comparePairs(c.pair(), after), -1) // the place behind it
	})
	rest := all[from:]
	page.Data = append(page.Data, rest[:min(limit, len(rest))]...)
	page.Paging.Returned = len(page.Data)
	if len(rest) > limit {
		place.After = rest[limit-1].pair()
		page.Paging.NextCursor, err = s.seal.sealCursor(bound, place)
	}
	return page, err
}

// parseSince reads an instant; a date is none.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, invalid("since: missing. It is an instant like 2026-03-01T08:00:00Z.")
	}
	at, err := contracts.ParseUpper(text, time.UTC)
	if _, noDate := time.Parse(time.DateOnly, text); err != nil || noDate == nil {
		return time.Time{}, invalid("since: %q is not RFC 3339 with an offset, like 2026-03-01T08:00:00Z.", text)
	}
	if at.After(now) {
		return time.Time{}, invalid("since: lies in the future.")
	}
	return at.Truncate(contracts.Resolution), nil
}

// results is the read that has to be acceptable for the changes to be.
func (r ChangesRequest) results(since, until time.Time) ResultsRequest {
	return ResultsRequest{
		OrderID: r.OrderID, ItemID: r.ItemID, PZN: r.PZN, EAN: r.EAN, ASINLocale: r.ASINLocale, ASIN: r.ASIN, Site: r.Site,
		GlobalScope: r.GlobalScope, Timezone: r.Timezone, LatestPerPair: true,
		CapturedFrom: since.Format(time.RFC3339Nano), CapturedTo: until.Format(time.RFC3339Nano),
	}
}

// changes are all changes of the scope, by item and site.
func (s *Service) changes(ctx context.Context, in *read, mark Watermark, since time.Time) ([]Change, error) {
	q := in.query // from since: a capture at since is the newest on both sides, or there is a newer one
	q.Watermark = mark
	after, err := s.observed(ctx, in, q)
	if err != nil || len(after) == 0 {
		return nil, err
	}
	q.Window = contracts.Window{From: since.Add(-changesLookback), To: since}
	before, err := s.observed(ctx, in, q)
	if err != nil {
		return nil, err
	}
	var all []Change
	for pair, now := range after {
		if c, changed := changeOf(pair, before[pair], now); changed {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return comparePairs(a.pair(), b.pair()) })
	return all, nil
}

// observed gives what the rows of a latestPerPair read say, by pair. It takes
// it from the rows' own JSON, so that a state looks as it does in results.
func (s *Service) observed(ctx context.Context, in *read, q ResultsQuery) (map[contracts.Pair]*ObservedState, error) {
	states := map[contracts.Pair]*ObservedState{}
	var row []byte
	err := s.store.Results(ctx, in.vis, &q, func(b *Block) error {
		in.encoder.begin(b)
		for i := range b.Len {
			row = in.encoder.append(row[:0], b, i)
			state := &ObservedState{CoverageState: string(coverageState.values.At(int(b.stateOf(i))))}
			if err := json.Unmarshal(row, state); err != nil {
				return err
			}
			states[contracts.Pair{Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(b.Site.At(i))}] = state
		}
		return nil
	})
	return states, err
}

func comparePairs(a, b contracts.Pair) int {
	return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Site, b.Site))
}
