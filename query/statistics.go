package query

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"preismon/contracts"
)

// HeldAtMost is how long the finding of a capture is assumed to hold if no
// other capture of the pair follows; the time after it was not observed.
const HeldAtMost = 24 * time.Hour

// Bounds of statistics.
const (
	maxStatisticPairs = 250_000
	maxBuckets        = 1_000
	statisticBytes    = 1_500 // approximate bytes per record
)

// Grouping is what statistics are grouped by.
type Grouping string

// The groupings.
const (
	ByProduct  Grouping = "product"
	BySite     Grouping = "site"
	ByMerchant Grouping = "merchant"
	ByBrand    Grouping = "brand"
	ByNothing  Grouping = "all"
)

// StatisticsRequest requests a summary of the observations of a window. The
// selectors and the window are those of results.
type StatisticsRequest struct {
	ResultsRequest
	By     Grouping `json:"by,omitempty"`
	Bucket string   `json:"bucket,omitempty"`

	Trend    bool `json:"trend,omitempty"`    // a StatisticTrend for each price
	Standing bool `json:"standing,omitempty"` // a StatisticStanding for each price
	Identity bool `json:"identity,omitempty"` // a StatisticIdentity for each product
}

// StatisticsQuery is a query to the store.
type StatisticsQuery struct {
	Rows  ResultsQuery // with its window, without the time before it
	By    Grouping
	Edges []int64 // where the parts of the window begin, and where the last one ends; ms
	Until int64   // the end of the window, or now; ms
	// TrendEdges are where the parts of a trend begin, and where the last one
	// ends; ms, nil for no trend.
	TrendEdges []int64
	After      StatisticPosition
	// Rest leaves out the products before After: the whole then covers less.
	Rest  bool
	Limit int
}

// StatisticPosition is where a record is in the order: by group, then by time.
type StatisticPosition struct {
	Item   contracts.ItemID `json:"i,omitempty"`
	Text   string           `json:"t,omitempty"`
	Bucket uint32           `json:"b"` // from 1
}

// Statistic sums up the rows of one group in one part of the window.
type Statistic struct {
	StatisticPosition
	Whole                                  bool // over all groups and parts: only Pairs and the counts
	Pairs                                  uint64
	Priced, Unavailable, NotFound, Unknown uint64
	Changes                                uint64
	InMs, OutMs, UnknownMs                 int64
	RestrictedMs                           int64 // part of UnknownMs, because the site restricted access
	Wins                                   []Wins
	Prices                                 []PriceStatistic
}

// Wins is how often a merchant held the buy box; empty: one without a name.
type Wins struct {
	Merchant string
	Wins     uint64
}

// PriceStatistic covers one currency, in its minor unit. The amounts mean
// nothing if Count is 0.
type PriceStatistic struct {
	Currency                                contracts.Currency
	Count                                   uint64
	Min, P25, Median, P75, Max, First, Last int64
	Weighted                                *big.Int // price times milliseconds
	HeldMs                                  int64
	Trend                                   map[uint32]int64 // median by part, from 1
}

// statisticsCursor is what a cursor of statistics holds.
type statisticsCursor struct {
	From, To  int64 // ms
	Until     int64
	Floor     int64             `json:"l,omitempty"` // of the visibility that the walk began with
	Watermark Watermark         `json:"w"`
	Observed  *uint64           `json:"p,omitempty"` // pairs of the whole; nil: sealed by an earlier build
	After     StatisticPosition `json:"a"`
}

// Statistics sums observations up. Of each capture it counts the standing offer
// (decision 025); by merchant, the standing one of each merchant. It is
// accepted or refused like a read of results of the same scope and window,
// which needs both bounds, the lower one, or none, and at most 250,000 pairs
// and 1,000 parts.
func (s *Service) Statistics(ctx context.Context, p Principal, r StatisticsRequest) (page *StatisticsPage, err error) {
	limit, err := pageLimit(r.Limit, MaxResultsLimit)
	if err != nil {
		return nil, err
	}
	r.By, r.Bucket = cmp.Or(r.By, ByProduct), cmp.Or(r.Bucket, "whole")
	switch {
	case !slices.Contains([]Grouping{ByProduct, BySite, ByMerchant, ByBrand, ByNothing}, r.By):
		return nil, invalid("by: %q is none of product, site, merchant, brand, all.", r.By)
	case steps[r.Bucket] == nil:
		return nil, invalid("bucket: %q is none of hour, day, week, whole.", r.Bucket)
	case r.CapturedTo != "" && r.CapturedFrom == "":
		return nil, invalid("capturedFrom: missing. Statistics need both bounds, only the lower one, or none.")
	}
	if err := r.checkDetails(limit); err != nil {
		return nil, err
	}
	rows := r.ResultsRequest
	rows.Cursor, rows.Limit = "", nil // they apply to the statistics, not to rows
	plan, err := s.plan(p, rows)
	if err != nil {
		return nil, err
	}
	plan.mostPairs = maxStatisticPairs
	w := plan.query.Window
	meaning := r
	meaning.ResultsRequest = r.ResultsRequest.meaning()
	if r.CapturedFrom != "" {
		meaning.CapturedFrom = fmt.Sprint(w.From.UnixMilli())
	}
	if r.CapturedTo != "" {
		meaning.CapturedTo = fmt.Sprint(w.To.UnixMilli())
	}
	bound := binding{Account: p.Account, Route: "statistics", Query: r, Meaning: meaning}
	position := statisticsCursor{From: w.From.UnixMilli(), To: w.To.UnixMilli(), Until: min(w.To.UnixMilli()+1, s.now().UnixMilli())}
	if r.Cursor != "" {
		if err := s.seal.openCursor(bound, r.Cursor, &position); err != nil {
			return nil, err
		}
		plan.query.Window = contracts.Window{From: fromMs(position.From), To: fromMs(position.To)}
		plan.query.FromNow, plan.query.ToNow = false, false
	}
	edges, err := edgesOf(fromMs(position.From), fromMs(position.To), r.Bucket, plan.zone)
	if err != nil {
		return nil, err
	}
	position.Until = max(position.Until, position.From)
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	in, err := s.accept(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	if err := r.checkStandings(in, limit); err != nil {
		return nil, err
	}
	if r.Cursor == "" {
		position.Watermark, position.Floor = in.query.Watermark, in.vis.Floor
	} else if err := in.vis.checkCursor(in.query.Watermark, position.Floor, position.Watermark); err != nil {
		return nil, err
	}
	page = &StatisticsPage{Data: []StatisticRecord{}, Paging: Paging{Limit: limit}, Query: statisticsEcho(in, r, position)}
	if in.empty {
		return page, nil
	}
	charged := pageBlocks + int64(limit)*statisticBytes + r.detailBytes(in, limit)
	room, giveBack, err := s.charge(ctx, charged)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	q := StatisticsQuery{Rows: in.query, By: r.By, Edges: edges, Until: position.Until, After: position.After, Rest: r.By == ByProduct && position.Observed != nil, Limit: limit + 2}
	if r.Trend {
		q.TrendEdges = trendEdges(position.From, position.To+1)
	}
	q.Rows.Window, q.Rows.Watermark = contracts.Window{From: fromMs(position.From), To: fromMs(position.To)}, position.Watermark
	noting(ctx).given, noting(ctx).more = limit, r.Standing || r.Identity
	found, err := s.store.Statistics(ctx, in.vis, &q)
	if err != nil {
		return nil, err
	}
	if page, err = s.statisticsPage(page, found, &q, in, r, bound, position); err != nil {
		return page, err
	}
	if r.Identity {
		err = s.identify(ctx, in.vis, page.Data)
	}
	if err == nil && r.Standing {
		err = s.addStandingsToPage(ctx, in, &offerRoom{room, charged}, page, position)
	}
	return page, err
}

// statisticsPage builds the records from what was found.
func (s *Service) statisticsPage(page *StatisticsPage, found []Statistic, q *StatisticsQuery, in *read, r StatisticsRequest, bound binding, position statisticsCursor) (_ *StatisticsPage, err error) {
	zone := newZoneFormat(in.zone)
	for _, st := range found {
		if st.Whole {
			if position.Observed == nil {
				position.Observed = &st.Pairs
			}
			continue
		}
		if len(page.Data) == page.Paging.Limit {
			page.Paging.NextCursor, err = s.seal.sealCursor(bound, position)
			break
		}
		page.Data = append(page.Data, st.record(r.By, q, zone))
		position.After = st.StatisticPosition
	}
	if position.Observed != nil {
		page.Query.ObservedPairs = *position.Observed
	}
	page.Paging.Returned = len(page.Data)
	return page, err
}

// steps return the start of the part after the one that contains an instant, in
// the instant's zone; the zero time: there is none.
var steps = map[string]func(time.Time) time.Time{
	"hour": func(t time.Time) time.Time {
		_, off := t.Zone() // some zones are off by half an hour
		shift := time.Duration(off) * time.Second
		return t.Add(shift).Truncate(time.Hour).Add(time.Hour - shift)
	},
	"day":   func(t time.Time) time.Time { return dayAfter(t, 1) },
	"week":  func(t time.Time) time.Time { return dayAfter(t, 7-(int(t.Weekday())+6)%7) }, // from Monday, ISO 8601
	"whole": func(time.Time) time.Time { return time.Time{} },
}

// dayAfter is the first instant of a day that begins after t, by the same rule
// as bounds of windows.
func dayAfter(t time.Time, days int) time.Time {
	for ; ; days++ {
		day := time.Date(t.Year(), t.Month(), t.Day()+days, 12, 0, 0, 0, time.UTC).Format(time.DateOnly)
		if next, err := contracts.ParseLower(day, t.Location()); err != nil || next.After(t) {
			return next
		}
	}
}

// edgesOf divides a closed window by the calendar of a zone.
func edgesOf(from, to time.Time, bucket string, zone *time.Location) ([]int64, error) {
	end := to.UnixMilli() + 1
	edges := []int64{from.UnixMilli()}
	for t := steps[bucket](from.In(zone)); !t.IsZero() && t.UnixMilli() < end; t = steps[bucket](t.In(zone)) {
		if len(edges) == maxBuckets {
			return nil, invalid("bucket: the window has more than %d parts of a %s. Send a new request with a shorter window or larger parts.", maxBuckets, bucket)
		}
		edges = append(edges, t.UnixMilli())
	}
	return append(edges, end), nil
}
