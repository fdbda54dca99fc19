package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/alert"
)

// Bounds of a page of alerts.
const (
	MaxAlertRows  = 1_000 // that are examined
	alertCaptures = 400   // approximate number of past captures per pair
	judgedBytes   = 128
)

// alertBytes is roughly the memory that the past for so many rows takes.
func alertBytes(rows int) int64 { return int64(mostCaptures(rows)) * judgedBytes }

// mostCaptures bounds the captures that are read for so many rows.
func mostCaptures(rows int) int { return (rows + 100) * alertCaptures }

// Alert is a capture at which a rule fires, or a pair that fell silent. See
// contracts/decisions/039-alerts.md and 068-silence-is-judged-by-time.md.
type Alert struct {
	AlertID string            `json:"alertId"` // identifies the rule and the capture
	Rule    alert.Kind        `json:"rule"`
	ItemID  contracts.ItemID  `json:"itemId"`
	Site    contracts.SiteKey `json:"site"`
	// ComparedPrice is the price that After's price is compared with, in its
	// currency: that of the rule, of the previous capture, of the own offer, or
	// the reference price; null for other rules.
	ComparedPrice *json.Number `json:"comparedPrice"`
	Before        *MoverSide   `json:"before"` // the last capture with a different finding; null: none in 168 hours
	After         *MoverSide   `json:"after"`  // null where the rule is about silence
	// Deadline is when a pair fell silent: Before plus the time of the rule;
	// null for other rules.
	Deadline *string `json:"deadline"`
}

// checkRule checks the rule of a new feed of alerts.
func checkRule(r *alert.Rule) error {
	if r == nil {
		return invalid("rule: missing.")
	}
	if err := r.Validate(); err != nil {
		return invalid("%s", err)
	}
	return nil
}

// touched collects the captures that the rows of a feed belong to, each once.
type touched struct {
	room     int
	more     bool
	last     *Position
	begun    FeedPosition // a capture of which some rows were taken before
	captures []Position
}

func (t *touched) take(_ context.Context, b *Block) error {
	n := min(b.Len, t.room)
	for k := range n {
		at := b.Position(b.At(k))
		if position := positionOf(at); position.capture() != t.begun.capture() {
			t.begun = position
			t.captures = append(t.captures, at)
		}
		t.last = &at
	}
	t.room -= n
	t.more = t.more || n < b.Len
	return nil
}

func (t *touched) taken() (room int, last *Position, more bool) { return t.room, t.last, t.more }

func positionOf(at Position) FeedPosition {
	return FeedPosition{at.Epoch, at.Seq, at.Capture, at.Offer}
}

// capture returns the position without the offer.
func (p FeedPosition) capture() FeedPosition {
	p.Offer = 0
	return p
}

// fillAlerts fills the page with the alerts that fire at the rows behind a
// state's position. All rows of a capture become visible at once, so a capture
// that a page cuts is reported with its first row. If the past of its captures
// is too long to be read, the page ends earlier.
func (s *Service) fillAlerts(ctx context.Context, in *read, page *FeedPage, state *feedState, between byte) (FeedPosition, error) {
	t := &touched{room: page.Limit, begun: state.At}
	at, upToDate, err := s.readFeed(ctx, in, state.At, t)
	if err != nil || len(t.captures) == 0 {
		page.Progress.UpToDate = upToDate
		return at, err
	}
	all, err := s.alerts(ctx, in, state.Rule, t.captures, mostCaptures(page.Limit))
	for errors.Is(err, errLongPast) && len(t.captures) > 1 {
		t.captures = t.captures[:(len(t.captures)+3)/4]
		at, upToDate = behind(t.captures[len(t.captures)-1]), false
		all, err = s.alerts(ctx, in, state.Rule, t.captures, mostCaptures(page.Limit))
	}
	if errors.Is(err, errLongPast) {
		return at, fault.New(fault.Invalid, CodeScopeTooBroad,
			"limit: a product has more captures that count than the %d that are read with this limit. Send a higher one, up to %d, or begin again without since.",
			mostCaptures(page.Limit), MaxAlertRows)
	}
	if err != nil {
		return at, err
	}
	page.Progress.UpToDate = upToDate
	return at, page.writeAlerts(all, between)
}

// writeAlerts makes alerts the rows of the page.
func (p *FeedPage) writeAlerts(all []Alert, between byte) error {
	out := bytes.NewBuffer((*rowBuffers.Get().(*[]byte))[:0])
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
		out.Bytes()[out.Len()-1] = between
	}
	p.Rows.buf, p.Rows.rows = out.Bytes(), len(all)
	if len(all) > 0 {
		p.Rows.buf = p.Rows.buf[:out.Len()-1]
	}
	return nil
}

// behind returns the position after all rows of a capture.
func behind(at Position) FeedPosition {
	position := positionOf(at)
	position.Offer = math.MaxUint16
	return position
}

// errLongPast means that captures have a longer past than may be read.
var errLongPast = errors.New("there are too many past captures")

// pastCapture is a capture of a pair, at its position.
type pastCapture struct {
	position FeedPosition
	alert.Judged
}

// alerts returns those that fire at some captures, in the captures' order.
func (s *Service) alerts(ctx context.Context, in *read, rule *alert.Rule, at []Position, most int) ([]Alert, error) {
	past, err := s.past(ctx, in, rule, at, most)
	if err != nil {
		return nil, err
	}
	id, err := s.rowIDs.ofAlerts(in.vis.Mandate, rule)
	if err != nil {
		return nil, err
	}
	var all []Alert
	zone := newZoneFormat(in.zone)
	for _, p := range at {
		captures := past[contracts.Pair{Item: p.Item, Site: p.Site}]
		n, found := slices.BinarySearchFunc(captures, positionOf(p).capture(), func(c pastCapture, position FeedPosition) int { return c.position.compare(position) })
		if !found {
			continue
		}
		visible := make([]alert.Judged, n+1)
		for i := range visible {
			visible[i] = captures[i].Judged
		}
		before, fires := rule.Fires(visible)
		if !fires {
			continue
		}
		after := &visible[n]
		a := Alert{AlertID: id(p), Rule: rule.Kind, ItemID: p.Item, Site: p.Site, Before: judgedSide(before, zone), After: judgedSide(after, zone)}
		compared := after.Compared
		if rule.Kind == alert.PriceDrop {
			compared = before.Offer.Price
		}
		if compared >= 0 {
			a.ComparedPrice = new(decimal(compared, after.Offer.Currency))
		}
		all = append(all, a)
	}
	return all, nil
}

func judgedSide(j *alert.Judged, zone *zoneFormat) *MoverSide {
	if j == nil {
		return nil
	}
	return (&featured{j.Ms, j.State, j.Offer}).side(zone)
}

func (p FeedPosition) compare(o FeedPosition) int {
	return cmp.Or(p.mark().Compare(o.mark()), cmp.Compare(p.Capture, o.Capture), cmp.Compare(p.Offer, o.Offer))
}

// past reads and judges the captures, up to the position of the last given one, of
// the pairs of these captures. Those of a pair are in the order of their
// positions. If they are more than most, it fails with errLongPast.
func (s *Service) past(ctx context.Context, in *read, rule *alert.Rule, at []Position, most int) (map[contracts.Pair][]pastCapture, error) {
	past, earliest := map[contracts.Pair][]pastCapture{}, at[0].CapturedMs
	var items []contracts.ItemID
	for _, p := range at {
		past[contracts.Pair{Item: p.Item, Site: p.Site}] = nil
		items, earliest = append(items, p.Item), min(earliest, p.CapturedMs)
	}
	slices.Sort(items)
	items = slices.Compact(items)
	facts, err := s.siteFacts(ctx, in.vis)
	if err != nil {
		return nil, err
	}
	var references ownPrices
	if rule.Kind == alert.Undercut && rule.OwnMerchant == "" {
		if references, err = s.referencesOf(ctx, in.vis, items); err != nil {
			return nil, err
		}
	}
	q, last := in.query, at[len(at)-1]
	q.Standing = true
	q.Selectors = Selectors{Order: q.Selectors.Order, Site: q.Selectors.Site, Items: ItemsOf(items)}
	q.Watermark = Watermark{last.Epoch, last.Seq}
	q.Window = contracts.Window{From: fromMs(earliest).Add(-rule.Span())}
	f := &folder{rule: rule, facts: facts, references: references, past: past, room: most, texts: repeatedTexts{}}
	if err := s.store.Results(ctx, in.vis, &q, f.take); err != nil {
		return nil, err
	}
	if f.end(); f.room < 0 {
		return nil, errLongPast
	}
	for _, captures := range past {
		slices.SortFunc(captures, func(a, b pastCapture) int { return a.position.compare(b.position) })
	}
	return past, nil
}

// folder builds captures from rows in the order of results, in which the rows
// of a capture are adjacent.
type folder struct {
	rule       *alert.Rule
	facts      siteFacts
	references ownPrices
	past       map[contracts.Pair][]pastCapture
	room       int // for so many more captures
	texts      repeatedTexts

	pair     contracts.Pair
	position FeedPosition
	now      alert.Capture // no offers: none has begun
}

func (f *folder) take(b *Block) error {
	for k := range b.Len {
		i := b.At(k)
		o := f.facts.boxed(f.texts.offerOf(b, i))
		position := FeedPosition{Epoch: b.Epoch[i], Seq: b.Seq[i], Capture: b.Capture[i]}
		if o.Pair != f.pair || position != f.position {
			if f.end(); f.room < 0 {
				return errLongPast
			}
			f.pair, f.position = o.Pair, position
			f.now = alert.Capture{Ms: b.CapturedMs[i], State: contracts.Outcome(b.Outcome[i]), Offers: f.now.Offers[:0]}
		}
		f.now.Offers = append(f.now.Offers, o.Offer)
	}
	return nil
}

// end judges the capture that was being built.
func (f *folder) end() {
	captures, wanted := f.past[f.pair]
	if len(f.now.Offers) == 0 || !wanted {
		return
	}
	comparesOwn := f.rule.Kind == alert.Undercut && f.rule.OwnMerchant != "" // whichever offer stands
	if f.now.State == contracts.PriceObserved && !comparesOwn && alert.Standing(f.now.Offers).Price < 0 {
		f.now.State = contracts.OutcomeUnknown
	}
	if f.room--; f.room < 0 {
		return
	}
	f.past[f.pair] = append(captures, pastCapture{f.position, f.rule.Judge(f.now, func(c contracts.Currency) (int64, bool) {
		return f.references.at(f.pair, c)
	})})
}
