package query

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Bounds of evidence.
const (
	maxEvidence      = 1_000 // rows of two captures at one instant
	maxEvidenceOrder = 20    // orders of a pair whose schedules are read
	evidenceRow      = 1_000 // approximate bytes per row
)

// EvidenceRequest selects the rows of a pair that were captured at an instant.
type EvidenceRequest struct {
	ItemID     contracts.ItemID
	Site       contracts.SiteKey
	CapturedAt string // RFC 3339
	Merchant   string // only offers of this one; empty: all
	Timezone   string
}

// EvidencePage has all rows of the instant, in the order of results.
type EvidencePage = Records[Evidence, EvidenceEcho]

// EvidenceEcho is the request as the answer repeats it.
type EvidenceEcho struct {
	CapturedAt string `json:"capturedAt" column:"instant"`
	Timezone   string `json:"timezone"`
	Rows       int    `json:"rows"`
}

// Evidence shows where a row comes from; null: not known.
type Evidence struct {
	ItemID        contracts.ItemID    `json:"itemId"`
	Site          contracts.SiteKey   `json:"site"`
	CapturedAt    string              `json:"capturedAt" column:"instant"`
	CoverageState string              `json:"coverageState"`
	Price         *json.Number        `json:"price"`
	CurrencyCode  *contracts.Currency `json:"currencyCode"`
	Merchant      *string             `json:"merchant"`
	RowID         string              `json:"rowId"`                      // the same as in a feed
	EventID       *string             `json:"eventId"`                    // of the event that brought the row
	NextDueAt     *string             `json:"nextDueAt" column:"instant"` // by the current schedules
	// VisibleAt is when the row first became visible to readers; a caller that
	// was granted its pair later saw it later.
	VisibleAt  *string `json:"visibleAt" column:"instant"`
	ProductURL *string `json:"productUrl"`
	// Again is the path of the read that returns this row as of its position.
	Again string `json:"again"`

	at       Watermark
	notFound bool
}

// Evidence shows where the rows of a capture come from. It is accepted or
// refused like a read of results of that pair at that instant.
func (s *Service) Evidence(ctx context.Context, p Principal, r EvidenceRequest) (page *EvidencePage, err error) {
	rows, err := r.rows()
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(p, rows)
	if err != nil {
		return nil, err
	}
	giveBack, err := s.Charge(ctx, pageBlocks+maxEvidence*evidenceRow)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	a, err := s.authorize(ctx, p)
	if err != nil {
		return nil, err
	}
	in, err := s.admit(ctx, plan, a.Visibility, a.Watermark)
	if err != nil {
		return nil, err
	}
	page = &EvidencePage{Data: []Evidence{}, Query: EvidenceEcho{CapturedAt: *in.echo.CapturedFrom, Timezone: in.echo.Timezone}}
	if in.empty {
		return page, nil
	}
	if page.Data, err = s.evidenceRows(ctx, p, in); err != nil || len(page.Data) == 0 {
		return page, err
	}
	page.Query.Rows = len(page.Data)
	positions := make([]Watermark, len(page.Data))
	for i := range page.Data {
		positions[i] = page.Data[i].at
	}
	slices.SortFunc(positions, Watermark.Compare)
	positions = slices.Compact(positions)
	events, err := s.store.EventIDs(ctx, positions)
	if err != nil {
		return nil, err
	}
	visible, err := s.store.VisibleTimes(ctx, positions)
	if err != nil {
		return nil, err
	}
	var every time.Duration
	if a.may(contracts.ReadOrders) {
		every, err = s.interval(ctx, a.Visibility, contracts.Pair{Item: r.ItemID, Site: r.Site})
		if err != nil {
			return nil, err
		}
	}
	for i := range page.Data {
		row := &page.Data[i]
		if due := dueAfter(every, row.notFound); due > 0 {
			row.NextDueAt = formatBound(in.query.Window.From.Add(due), in.zone)
		}
		if id, known := events[row.at]; known {
			row.EventID = &id
		}
		if at, known := visible[row.at]; known {
			row.VisibleAt = formatBound(at, in.zone)
		}
	}
	return page, nil
}

// rows is the read of results that returns the rows.
func (r EvidenceRequest) rows() (rows ResultsRequest, err error) {
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		return rows, invalid("timezone: %s.", err)
	}
	switch {
	case r.ItemID == 0:
		return rows, invalid("itemId: missing.")
	case r.Site == "":
		return rows, invalid("site: missing.")
	case r.CapturedAt == "":
		return rows, invalid("capturedAt: missing. Give that of a row, like 2026-03-01T08:30:00.250Z.")
	}
	from, err := contracts.ParseLower(r.CapturedAt, zone)
	if err != nil {
		return rows, invalid("capturedAt: %s.", err)
	}
	if to, err := contracts.ParseUpper(r.CapturedAt, zone); err != nil || !to.Equal(from) {
		return rows, invalid("capturedAt: %q is no instant. Give that of a row, like 2026-03-01T08:30:00.250Z.", r.CapturedAt)
	}
	return ResultsRequest{
		ItemID: r.ItemID, Site: r.Site, Filters: Filters{Merchant: r.Merchant}, Timezone: r.Timezone, CapturedFrom: r.CapturedAt, CapturedTo: r.CapturedAt,
	}, nil
}

// evidenceRows reads the rows, with the evidence that they contain themselves.
func (s *Service) evidenceRows(ctx context.Context, p Principal, in *read) ([]Evidence, error) {
	q := in.query
	q.Export, q.Limit = true, maxEvidence+1
	all, zone, id := []Evidence{}, newZoneFormat(in.zone), s.rowIDs.of(in.vis.Mandate)
	err := s.store.Results(ctx, in.vis, &q, func(b *Block) error {
		for k := range b.Len {
			i := b.At(k)
			row := Evidence{
				ItemID: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(b.Site.At(i)), CapturedAt: string(zone.append(nil, b.CapturedMs[i])),
				CoverageState: string(coverageState.values.At(int(b.stateOf(i)))), Merchant: orNull(string(b.Merchant.At(i))),
				ProductURL: orNull(string(b.URL.At(i))), RowID: string(id(nil, b, i)), at: Watermark{b.Epoch[i], b.Seq[i]},
				notFound: contracts.Outcome(b.Outcome[i]) == contracts.ProductNotFound,
			}
			if b.PriceMinor[i] >= 0 {
				currency := contracts.Currency(b.Currency.At(i))
				row.Price, row.CurrencyCode = new(decimal(b.PriceMinor[i], currency)), &currency
			}
			var err error
			if row.Again, err = s.rereadPath(p, b.Position(i), in.floor); err != nil {
				return err
			}
			all = append(all, row)
		}
		return nil
	})
	if len(all) > maxEvidence {
		return nil, fault.New(fault.Invalid, CodeScopeTooBroad, "More than %d rows were captured at this instant. Name a merchant.", maxEvidence)
	}
	return all, err
}

// rereadPath is the path of the read that begins with a row and sees nothing that
// came after it. Rows are kept from floor on.
func (s *Service) rereadPath(p Principal, at Position, floor int64) (string, error) {
	captured := formatInstant(fromMs(at.CapturedMs), time.UTC)
	plan, err := s.plan(p, ResultsRequest{ItemID: at.Item, Site: at.Site, CapturedFrom: captured, CapturedTo: captured})
	if err != nil {
		return "", err
	}
	plan.query.Watermark, plan.floor = Watermark{at.Epoch, at.Seq}, floor
	cursor, err := s.cursorAfter(plan, at.before())
	return "/v1/results?" + url.Values{
		"itemId": {at.Item.String()}, "site": {string(at.Site)}, "capturedFrom": {captured}, "capturedTo": {captured}, "limit": {"1"}, "cursor": {cursor},
	}.Encode(), err
}

// before is the last position before a row's, among the rows of its pair and
// instant.
func (at Position) before() Position {
	switch {
	case at.Offer > 0:
		at.Offer--
		return at
	case at.Capture > 0:
		at.Capture--
	default:
		at.Seq, at.Capture = at.Seq-1, math.MaxUint16 // a stream's first is 1
	}
	at.Offer = math.MaxUint16
	return at
}

// interval is the time from a capture of a pair to the next due one, by the
// orders that the caller sees; 0: not known.
func (s *Service) interval(ctx context.Context, v Visibility, pair contracts.Pair) (every time.Duration, err error) {
	of, err := s.store.PairOrders(ctx, v, []contracts.ItemID{pair.Item})
	if err != nil || len(of[pair]) > maxEvidenceOrder {
		return 0, err
	}
	var orders []Order
	for _, id := range of[pair] {
		order, err := s.readOrder(ctx, v, id)
		switch {
		case fault.KindOf(err) == fault.NotFound && err != nil:
			continue // its record is not there yet
		case err != nil:
			return 0, err
		}
		orders = append(orders, Order{Order: order})
	}
	judges, err := s.judges(ctx, v, orders, []OrderPair{{Pair: pair}})
	if err != nil || len(judges) == 0 {
		return 0, err
	}
	return ruling(pair, judges).interval(pair), nil
}
