package query

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
)

// Summary tells what the rows of a read say, site by site.
type Summary struct {
	Covers          Covers        `json:"covers"`
	Rows            int           `json:"rows"`            // that it covers
	FirstCapturedAt *string       `json:"firstCapturedAt"` // of these rows
	LastCapturedAt  *string       `json:"lastCapturedAt"`
	Sites           []SiteSummary `json:"sites"` // by key: each with rows, and each visible one under the selectors
}

// Covers is of which rows a summary is.
type Covers string

// A summary is of all rows of the read where these are all on one page, or the
// page is the first one and they are at most maxSummaryRows that can be read in
// time; else it is of its page.
const (
	CoversQuery Covers = "query"
	CoversPage  Covers = "page"
)

// SiteSummary tells what the rows say about a site.
type SiteSummary struct {
	Site contracts.SiteKey `json:"site"`
	*SiteRows
	// NoResult is the number of visible pairs under the selectors that have no
	// row. It is nil where the summary cannot tell: one of a page does not cover
	// the rows of the other pages, and a filter hides rows that exist.
	NoResult *uint64 `json:"noResult"`
}

// SiteRows tells what there is of a site with rows; one without has none of its
// members. A price, an unavailable product and a product without a result are
// three outcomes (GEN-G5); each row counts as one of the first three numbers.
type SiteRows struct {
	Priced      int            `json:"priced"`      // rows that are available at a price
	Unavailable int            `json:"unavailable"` // rows of what the site does not sell now, or does not have
	Unknown     int            `json:"unknown"`     // rows that do not tell: access restricted, site down, no price given
	Prices      []PriceSummary `json:"prices"`      // of the priced rows, by currency code
	// BuyBox is how often which merchant held it, most often first, at most
	// maxSummaryMerchants; nil: no row shows one, or the read is without the
	// export fields.
	BuyBox []StatisticWinner `json:"buyBox,omitempty"`
}

// PriceSummary is the distribution of the prices in one currency, as the field
// price shows them.
type PriceSummary struct {
	CurrencyCode contracts.Currency `json:"currencyCode"`
	Count        int                `json:"count"`
	Min          json.Number        `json:"min"`
	Median       json.Number        `json:"median"` // one of the prices: of an even number, the lower of the two in the middle
	Max          json.Number        `json:"max"`
}

// Bounds of a summary.
const (
	maxSummaryRows      = 100_000
	maxSummaryMerchants = 10
	summaryBytes        = 4 << 20 // that the counts of so many rows take, about
)

// tally counts rows by site.
type tally struct {
	pairs       map[contracts.SiteKey]uint64 // visible under the selectors
	sites       map[contracts.SiteKey]*siteTally
	dict        []*siteTally // by site of the block's dictionary; nil: not looked up
	export      bool         // the rows have the columns of the export fields
	rows        int
	first, last int64 // captures, ms
}

type siteTally struct {
	priced, unavailable, unknown int
	items                        map[uint64]struct{} // with a row
	prices                       map[contracts.Currency][]int64
	wins                         map[string]uint64 // by merchant
}

func newSiteTally() *siteTally {
	return &siteTally{items: map[uint64]struct{}{}, prices: map[contracts.Currency][]int64{}, wins: map[string]uint64{}}
}

// sumUp sums a page up, and where the page does not hold all rows of its
// read, but begins with the first of them, the read.
func (s *Service) sumUp(ctx context.Context, in *read, r ResultsRequest, page *ResultsPage, of *tally) (*Summary, error) {
	covers := CoversPage
	if r.Cursor == "" {
		covers = CoversQuery
		if page.Paging.NextCursor != "" {
			all, err := s.tallyAll(ctx, in, of.pairs)
			switch {
			case err != nil:
				return nil, err
			case all == nil:
				covers = CoversPage
			default:
				of = all
			}
		}
	}
	return of.summary(covers, covers == CoversQuery && !in.query.Filtered(), newZoneFormat(in.zone)), nil
}

// tallyAll counts all rows of a read, in one read of columns. Nil: they are too
// many, or take too long.
func (s *Service) tallyAll(ctx context.Context, in *read, pairs map[contracts.SiteKey]uint64) (*tally, error) {
	soon, cancel := context.WithTimeout(ctx, time.Duration(optimisticShare*float64(s.cfg.SoftDeadline)))
	defer cancel()
	giveBack, err := s.Charge(soon, summaryBytes)
	if err != nil {
		return nil, unlessLate(ctx, soon, err)
	}
	defer giveBack()
	t := newTallyOf(pairs, in.query.Export)
	q := in.query
	q.Limit = maxSummaryRows + 1
	if err := s.store.counted(soon, in.vis, &q, func(b *Block) error { t.add(b, b.Len); return nil }); err != nil {
		return nil, unlessLate(ctx, soon, err)
	}
	if t.rows > maxSummaryRows {
		return nil, nil
	}
	return t, nil
}

// unlessLate is an error of what has less time than its caller, and that the
// caller can do without; nil: time was up, or there was no room.
func unlessLate(ctx, soon context.Context, err error) error {
	if ctx.Err() == nil && (soon.Err() != nil || admission.Refused(err) || fault.KindOf(err) == fault.Timeout) {
		return nil
	}
	return err
}

// newTally begins the summary of a page.
func (s *Service) newTally(ctx context.Context, in *read) (*tally, error) {
	if in.vis.Nothing() {
		return newTallyOf(nil, in.query.Export), nil
	}
	pairs, err := s.store.PairsBySite(ctx, in.vis, in.query.Selectors)
	return newTallyOf(pairs, in.query.Export), err
}

func newTallyOf(pairs map[contracts.SiteKey]uint64, export bool) *tally {
	t := &tally{pairs: pairs, export: export, sites: map[contracts.SiteKey]*siteTally{}, first: math.MaxInt64, last: math.MinInt64}
	for site := range pairs {
		t.sites[site] = newSiteTally()
	}
	return t
}

// add counts the first n rows of a block in their order.
func (t *tally) add(b *Block, n int) {
	t.dict = slices.Grow(t.dict[:0], b.Site.Values.Len())[:b.Site.Values.Len()]
	clear(t.dict)
	t.rows += n
	for k := range n {
		i := b.At(k)
		site := t.site(b, i)
		site.items[b.Item[i]] = struct{}{}
		t.first, t.last = min(t.first, b.CapturedMs[i]), max(t.last, b.CapturedMs[i])
		if t.export && contracts.Flag(b.IsBuyBox[i]) == contracts.FlagTrue {
			site.wins[string(b.Merchant.At(i))]++
		}
		switch contracts.Outcome(b.Outcome[i]) {
		case contracts.PriceObserved:
			if b.PriceMinor[i] < 0 {
				site.unknown++
				continue
			}
			site.priced++
			currency := b.Currency.At(i)
			site.prices[contracts.Currency(currency)] = append(site.prices[contracts.Currency(currency)], b.PriceMinor[i])
		case contracts.Unavailable, contracts.ProductNotFound:
			site.unavailable++
		default:
			site.unknown++
		}
	}
}

// site finds the counts of a row's site.
func (t *tally) site(b *Block, i int) *siteTally {
	at := &t.dict[b.Site.Index[i]]
	if *at == nil {
		key := contracts.SiteKey(b.Site.At(i))
		if t.sites[key] == nil {
			t.sites[key] = newSiteTally()
		}
		*at = t.sites[key]
	}
	return *at
}

// summary gives what was counted. Only where every row of the pairs under the
// selectors was can it tell which have none.
func (t *tally) summary(covers Covers, every bool, zone *zoneFormat) *Summary {
	sum := &Summary{Covers: covers, Rows: t.rows, Sites: make([]SiteSummary, 0, len(t.sites))}
	if t.rows > 0 {
		first, last := string(zone.append(nil, t.first)), string(zone.append(nil, t.last))
		sum.FirstCapturedAt, sum.LastCapturedAt = &first, &last
	}
	for _, key := range slices.Sorted(maps.Keys(t.sites)) {
		site := t.sites[key]
		one := SiteSummary{Site: key, SiteRows: site.summary()}
		if every {
			// A pair that left the scope while the page was read has rows and
			// is not counted.
			none := t.pairs[key] - min(t.pairs[key], uint64(len(site.items)))
			one.NoResult = &none
		}
		sum.Sites = append(sum.Sites, one)
	}
	return sum
}

// summary is nil of a site without rows.
func (t *siteTally) summary() *SiteRows {
	if len(t.items) == 0 {
		return nil
	}
	rows := &SiteRows{Priced: t.priced, Unavailable: t.unavailable, Unknown: t.unknown, Prices: []PriceSummary{}}
	for _, currency := range slices.Sorted(maps.Keys(t.prices)) {
		rows.Prices = append(rows.Prices, distribution(currency, t.prices[currency]))
	}
	wins := make([]Wins, 0, len(t.wins))
	for merchant, n := range t.wins {
		wins = append(wins, Wins{merchant, n})
	}
	rows.BuyBox = winners(wins)
	rows.BuyBox = rows.BuyBox[:min(len(rows.BuyBox), maxSummaryMerchants)]
	return rows
}

// distribution sorts the prices.
func distribution(currency contracts.Currency, prices []int64) PriceSummary {
	slices.Sort(prices)
	n := len(prices)
	amount := func(minor int64) json.Number { return decimal(minor, currency) }
	return PriceSummary{
		CurrencyCode: currency, Count: n,
		Min: amount(prices[0]), Median: amount(prices[(n-1)/2]), Max: amount(prices[n-1]),
	}
}
