package query

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
)

// Summary sums up the rows of a read, site by site.
type Summary struct {
	Covers          Covers        `json:"covers"`
	Rows            int           `json:"rows"`            // that it covers
	FirstCapturedAt *string       `json:"firstCapturedAt"` // of these rows
	LastCapturedAt  *string       `json:"lastCapturedAt"`
	Sites           []SiteSummary `json:"sites"` // by key: each with rows, and each visible one under the selectors
}

// Covers is which rows a summary covers.
type Covers string

// A summary covers all rows of the read if its page is the first one and they
// can be counted in time; otherwise it covers its page.
const (
	CoversQuery Covers = "query"
	CoversPage  Covers = "page"
)

// SiteSummary sums up the rows of a site.
type SiteSummary struct {
	Site contracts.SiteKey `json:"site"`
	*SiteRows
	// NoResult is the number of visible pairs under the selectors that have no
	// row, whatever the filters: a pair whose rows they hide has some. It is
	// nil for a page, which does not know the rows of the other pages.
	NoResult *uint64 `json:"noResult"`
}

// Rows is how many rows there are of a site.
func (s SiteSummary) Rows() int {
	if s.SiteRows == nil {
		return 0
	}
	return s.Priced + s.Unavailable + s.Unknown
}

// SiteRows sums up a site with rows; for a site without any, its members are
// absent. A price, an unavailable product and a product without a result are
// three outcomes (GEN-G5); each row counts in one of the first three numbers.
type SiteRows struct {
	Priced      int            `json:"priced"`      // rows that are available at a price
	Unavailable int            `json:"unavailable"` // rows of what the site does not sell now, or does not have
	Unknown     int            `json:"unknown"`     // rows that do not show it: access restricted, site down, no price given
	Prices      []PriceSummary `json:"prices"`      // of the priced rows, by currency code
	// BuyBox lists how often each merchant held it, most often first, at most
	// maxSummaryMerchants; nil: no row shows one, or the site has no buy boxes
	// (FLD-03b).
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
	maxSummaryMerchants = 10
	summaryBytes        = 4 << 20 // for the counts of CountedRows, approximately
)

// SiteTally sums up all rows of a read at one site.
type SiteTally struct {
	Site                         contracts.SiteKey
	Pairs                        uint64 // with a row
	Priced, Unavailable, Unknown uint64 // rows
	FirstMs, LastMs              int64  // captures
	Prices                       []PriceTally
	Wins                         []Wins
}

// PriceTally sums up the prices in one currency, in its minor unit.
type PriceTally struct {
	Currency         contracts.Currency
	Count            uint64
	Min, Median, Max int64 // the lower median
}

// sumUp sums up a page, or the whole read if the page is its first one. If the
// read cannot be counted in time, it sums up the page; if only its pairs
// without a result cannot, it leaves those out.
func (s *Service) sumUp(ctx context.Context, in *read, r ResultsRequest, page *ResultsPage, of *tally) (*Summary, error) {
	sum := summing{covers: CoversPage, sites: of.sites(), pairs: of.pairs}
	if r.Cursor != "" {
		return s.summary(ctx, in, sum)
	}
	soon, cancel := context.WithTimeout(ctx, s.cfg.SoftDeadline)
	defer cancel()
	sum.covers = CoversQuery
	if page.Paging.NextCursor != "" {
		all, err := s.tallyAll(soon, in, of.pairs)
		switch {
		case err == nil:
			sum.sites = all
		case unlessLate(ctx, soon, err) != nil:
			return nil, err
		default:
			sum.covers = CoversPage
		}
	}
	if sum.covers == CoversQuery {
		var err error
		if sum.observed, err = s.observed(soon, in, sum); unlessLate(ctx, soon, err) != nil {
			return nil, err
		}
	}
	return s.summary(ctx, in, sum)
}

// summary returns the summary of what was counted, with buy boxes only of
// country markets.
func (s *Service) summary(ctx context.Context, in *read, sum summing) (*Summary, error) {
	held := func(site SiteTally) bool { return len(site.Wins) > 0 }
	if slices.ContainsFunc(sum.sites, held) {
		facts, err := s.siteFacts(ctx, in.vis)
		if err != nil {
			return nil, err
		}
		sum.sites = slices.Clone(sum.sites) // they may be remembered
		for i, site := range sum.sites {
			if !facts[site.Site].CanonicalCountryMarket {
				sum.sites[i].Wins = nil
			}
		}
	}
	return sum.summary(newZoneFormat(in.zone)), nil
}

// tallyAll counts all rows of a read: a few of them here, where they are
// remembered, more of them by one statement.
func (s *Service) tallyAll(ctx context.Context, in *read, pairs map[contracts.SiteKey]uint64) ([]SiteTally, error) {
	few, err := s.tallyFew(ctx, in, pairs)
	if err != nil || few != nil {
		return few.sites(), err
	}
	q := in.query
	q.Limit, q.After = 0, nil
	return s.store.Tally(ctx, in.vis, &q)
}

// tallyFew counts the rows of a read here. Nil: they are more than CountedRows,
// or cannot be read soon.
func (s *Service) tallyFew(ctx context.Context, in *read, pairs map[contracts.SiteKey]uint64) (*tally, error) {
	if s.cfg.CountedRows == 0 {
		return nil, nil
	}
	soon, cancel := context.WithTimeout(ctx, time.Duration(optimisticShare*float64(s.cfg.SoftDeadline)))
	defer cancel()
	giveBack, err := s.Charge(soon, summaryBytes)
	if err != nil {
		return nil, unlessLate(ctx, soon, err)
	}
	defer giveBack()
	t := newTallyOf(pairs)
	q := in.query
	q.Limit = s.cfg.CountedRows + 1
	all, err := s.store.counted(soon, in.vis, &q, func(b *Block) error { t.add(b, b.Len); return nil })
	if err != nil {
		return nil, unlessLate(ctx, soon, err)
	}
	if !all || t.rows > s.cfg.CountedRows {
		return nil, nil
	}
	return t, nil
}

// observed counts the pairs of each site that have a row, whatever the filters.
func (s *Service) observed(ctx context.Context, in *read, sum summing) (map[contracts.SiteKey]uint64, error) {
	if in.query.Filtered() && len(sum.pairs) > 0 {
		q := in.query.unfiltered()
		return s.store.ObservedBySite(ctx, in.vis, &q)
	}
	all := map[contracts.SiteKey]uint64{}
	for _, site := range sum.sites {
		all[site.Site] = site.Pairs
	}
	return all, nil
}

// unlessLate returns an error of something that has less time than its caller,
// and that the caller can do without; nil: time was up, or there was no room.
func unlessLate(ctx, soon context.Context, err error) error {
	if ctx.Err() == nil && (soon.Err() != nil || admission.Refused(err) || fault.KindOf(err) == fault.Timeout) {
		return nil
	}
	return err
}

// newTally begins the summary of a page.
func (s *Service) newTally(ctx context.Context, in *read) (*tally, error) {
	if in.vis.Nothing() {
		return newTallyOf(nil), nil
	}
	pairs, err := s.store.PairsBySite(ctx, in.vis, in.query.Selectors)
	return newTallyOf(pairs), err
}

// summing is a summary that is being built.
type summing struct {
	covers   Covers
	sites    []SiteTally                  // with rows
	pairs    map[contracts.SiteKey]uint64 // visible under the selectors
	observed map[contracts.SiteKey]uint64 // of these, with a row; nil: not known
}

func (s summing) summary(zone *zoneFormat) *Summary {
	sum := &Summary{Covers: s.covers, Sites: []SiteSummary{}}
	bySite := map[contracts.SiteKey]*SiteTally{}
	for site := range s.pairs {
		bySite[site] = nil
	}
	var first, last int64
	for i := range s.sites {
		site := &s.sites[i]
		bySite[site.Site] = site
		if sum.Rows == 0 {
			first, last = site.FirstMs, site.LastMs
		}
		first, last = min(first, site.FirstMs), max(last, site.LastMs)
		sum.Rows += int(site.Priced + site.Unavailable + site.Unknown)
	}
	if sum.Rows > 0 {
		sum.FirstCapturedAt, sum.LastCapturedAt = new(string(zone.append(nil, first))), new(string(zone.append(nil, last)))
	}
	for _, key := range slices.Sorted(maps.Keys(bySite)) {
		one := SiteSummary{Site: key, SiteRows: bySite[key].summary()}
		if s.observed != nil {
			// A pair that left the scope while the page was read has rows and
			// is not counted.
			one.NoResult = new(s.pairs[key] - min(s.pairs[key], s.observed[key]))
		}
		sum.Sites = append(sum.Sites, one)
	}
	return sum
}

// summary is nil for a site without rows.
func (t *SiteTally) summary() *SiteRows {
	if t == nil {
		return nil
	}
	rows := &SiteRows{Priced: int(t.Priced), Unavailable: int(t.Unavailable), Unknown: int(t.Unknown), Prices: []PriceSummary{}}
	for _, p := range slices.SortedFunc(slices.Values(t.Prices), func(a, b PriceTally) int { return cmp.Compare(a.Currency, b.Currency) }) {
		amount := func(minor int64) json.Number { return decimal(minor, p.Currency) }
		rows.Prices = append(rows.Prices, PriceSummary{
			CurrencyCode: p.Currency, Count: int(p.Count), Min: amount(p.Min), Median: amount(p.Median), Max: amount(p.Max),
		})
	}
	rows.BuyBox = winners(t.Wins)
	rows.BuyBox = rows.BuyBox[:min(len(rows.BuyBox), maxSummaryMerchants)]
	return rows
}
