package query

import (
	"context"
	"math"
	"time"

	"preismon/contracts"
	"preismon/query/alert"
)

const (
	// silenceStep is the length of the steps of time up to which silence is
	// judged: however often a feed is read, it costs one statement per step.
	silenceStep = 5 * time.Second
	// silenceSpan is how much time a page judges at most.
	silenceSpan = 24 * time.Hour
)

// lastStep returns the end of the last full step.
func lastStep(now time.Time) int64 { return toMs(now.Truncate(silenceStep)) }

// silencePosition is up to where silence was judged: by when pairs fell silent,
// then by item and site.
type silencePosition struct {
	Ms   int64             `json:"t"`
	Item contracts.ItemID  `json:"i"`
	Site contracts.SiteKey `json:"n,omitempty"`
}

// judgedUntil returns the position after all pairs that fell silent until an instant.
func judgedUntil(ms int64) *silencePosition { return &silencePosition{Ms: ms, Item: math.MaxUint64} }

// SilencesQuery is a query to the store: the offers that stand for the captures
// of Rows, of which no other capture of the pair follows within For, up to the
// watermark. The window of Rows is bounded, After is a capture time, item and
// site, and of several captures of a pair at the same time the newest counts.
type SilencesQuery struct {
	Rows ResultsQuery
	For  time.Duration
}

// fillSilences fills the page with the pairs that fell silent since a state's
// position, and returns up to when the page is complete. now is from before the
// page's watermark was read. Nothing is read for a caller that sees nothing.
func (s *Service) fillSilences(ctx context.Context, in *read, page *FeedPage, state *feedState, r FeedRequest, now time.Time, sees bool) (asOf time.Time, err error) {
	from, until := *state.Silence, lastStep(now)
	page.PollAfter = fromMs(until).Add(silenceStep).Sub(now)
	until = max(until, from.Ms) // another node's clock may be ahead
	end := judgedUntil(min(until, from.Ms+silenceSpan.Milliseconds()))
	page.Progress.UpToDate = end.Ms == until
	if sees && *end != from {
		all, err := s.silences(ctx, in, state.Rule, from, end.Ms, page.Limit+1)
		if err != nil {
			return now, err
		}
		if len(all) > page.Limit {
			all = all[:page.Limit]
			last := &all[page.Limit-1]
			end, page.Progress.UpToDate = &silencePosition{last.Ms, last.Item, last.Site}, false
		}
		if err := s.writeSilences(in, page, state.Rule, all, r.between()); err != nil {
			return now, err
		}
	}
	state.Silence = end
	return fromMs(end.Ms), nil
}

// silence is a pair that fell silent, after its last capture.
type silence struct {
	silencePosition
	last *featured
}

// silences reads the pairs that fell silent after a position, until an instant, at
// most limit.
func (s *Service) silences(ctx context.Context, in *read, rule *alert.Rule, from silencePosition, until int64, limit int) (all []silence, err error) {
	facts, err := s.siteFacts(ctx, in.vis)
	if err != nil {
		return nil, err
	}
	silent, texts := rule.SilentFor.Milliseconds(), repeatedTexts{}
	q := SilencesQuery{Rows: in.query, For: rule.SilentFor}
	q.Rows.Standing, q.Rows.Limit = true, limit
	q.Rows.Window = contracts.Window{From: fromMs(from.Ms - silent), To: fromMs(until - silent)}
	q.Rows.After = &Position{CapturedMs: from.Ms - silent, Item: from.Item, Site: from.Site}
	err = s.store.Silences(ctx, in.vis, &q, func(b *Block) error {
		for k := range b.Len {
			pair, last := texts.featured(b, b.At(k), facts)
			all = append(all, silence{silencePosition{last.capturedMs + silent, pair.Item, pair.Site}, last})
		}
		return nil
	})
	return all, err
}

// writeSilences makes the alerts about silent pairs the rows of the page.
func (s *Service) writeSilences(in *read, page *FeedPage, rule *alert.Rule, silent []silence, between byte) error {
	id, err := s.rowIDs.ofSilences(in.vis.Mandate, rule)
	if err != nil {
		return err
	}
	zone := newZoneFormat(in.zone)
	all := make([]Alert, len(silent))
	for i, p := range silent {
		all[i] = Alert{
			AlertID: id(contracts.Pair{Item: p.Item, Site: p.Site}, p.last.capturedMs), Rule: rule.Kind, ItemID: p.Item, Site: p.Site,
			Before: p.last.side(zone), Deadline: new(string(zone.append(nil, p.Ms))),
		}
	}
	return page.writeAlerts(all, between)
}
