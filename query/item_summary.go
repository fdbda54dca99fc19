package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
)

// summaryWindow is the window of an item's summary if none is requested.
const summaryWindow = 30 * day

// ItemSummaryRequest requests what a product costs now and how it developed in
// a window.
type ItemSummaryRequest struct {
	ItemID                   contracts.ItemID
	Site                     contracts.SiteKey // only this one
	CapturedFrom, CapturedTo string            // both or none: the last 30 days
	OwnMerchant              string            // as in positions
	CandidatePrice           string            // as in MarketPosition, in place of an own price
	CurrencyCode             contracts.Currency
	Timezone                 string
}

// rows is the request for the observations that a summary covers.
func (r *ItemSummaryRequest) rows(now time.Time) ResultsRequest {
	rows := ResultsRequest{ItemID: r.ItemID, Site: r.Site, Timezone: r.Timezone, CapturedFrom: r.CapturedFrom, CapturedTo: r.CapturedTo}
	if r.CapturedFrom == "" {
		rows.CapturedFrom, rows.CapturedTo = now.Add(-summaryWindow).Format(time.RFC3339Nano), now.Format(time.RFC3339Nano)
	}
	return rows
}

// check returns, all at once, the faults that can be found without data.
func (r *ItemSummaryRequest) check() error {
	var wrong faults
	wrong.check((r.CapturedFrom == "") == (r.CapturedTo == ""), "capturedFrom and capturedTo must be given together.")
	wrong.check(r.CandidatePrice == "" || r.OwnMerchant == "", "candidatePrice and ownMerchant exclude each other.")
	if r.CandidatePrice == "" {
		wrong.check(r.CurrencyCode == "", "currencyCode: only with candidatePrice, which is missing.")
		return wrong.err
	}
	wrong.check(r.CurrencyCode == "" || r.CurrencyCode.Valid(), "currencyCode: %q is not an ISO 4217 code like EUR.", r.CurrencyCode)
	wrong.add(checkCandidate(r.CandidatePrice, r.CurrencyCode))
	return wrong.err
}

// comparedWith returns whose price the own price is.
func (r *ItemSummaryRequest) comparedWith() string {
	switch {
	case r.CandidatePrice != "":
		return "candidate"
	case r.OwnMerchant != "":
		return "merchant"
	}
	return "reference"
}

// ItemSummary has a record for each market, by country and currency: that of
// each site's own country and currency, and those of other currencies in which
// the product was offered. All of it is as of one moment.
type ItemSummary = Records[ItemMarket, ItemSummaryEcho]

// ItemSummaryEcho describes what the answer covers.
type ItemSummaryEcho struct {
	ItemID       contracts.ItemID `json:"itemId"`
	Name         *string          `json:"name"`
	CapturedFrom string           `json:"capturedFrom"`
	CapturedTo   string           `json:"capturedTo"`
	CurrentFrom  string           `json:"currentFrom"` // earlier captures are not current offers
	AsOf         string           `json:"asOf"`
	Timezone     string           `json:"timezone"`
	Beside       string           `json:"beside"` // reference, merchant or candidate
	Pairs        uint64           `json:"pairs"`
	NoResult     int              `json:"noResult"` // how many of the pairs are without any capture
}

// ItemSummary returns what a page about one product shows. It is accepted or
// refused like statistics by day of the product; the current offers are those
// that Positions uses.
func (s *Service) ItemSummary(ctx context.Context, p Principal, r ItemSummaryRequest) (*ItemSummary, error) {
	return s.itemSummary(ctx, &sight{service: s, caller: p}, r, s.now().UTC().Truncate(contracts.Resolution))
}

// itemSummary is an item's summary according to what its caller sees at one
// moment.
func (s *Service) itemSummary(ctx context.Context, seen *sight, r ItemSummaryRequest, now time.Time) (_ *ItemSummary, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	plan, err := s.plan(seen.caller, r.rows(now))
	if err != nil {
		return nil, err
	}
	plan.mostPairs = maxStatisticPairs
	noting(ctx).noteOpen(r.CapturedFrom == "")
	w := plan.query.Window
	edges, err := edgesOf(w.From, w.To, "day", plan.zone)
	if err != nil {
		return nil, invalid("capturedFrom lies more than %s days before capturedTo. Send a new request with a shorter window.", "1,000")
	}
	giveBack, err := s.Charge(ctx, latestBytes)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	a, err := seen.authorize(ctx)
	if err != nil {
		return nil, err
	}
	in, err := s.admit(ctx, plan, a.Visibility, a.Watermark)
	if err != nil {
		return nil, err
	}
	at := func(t time.Time) string { return formatInstant(t, in.zone) }
	o := itemSumming{s: s, in: in, r: r, reasons: a.may(contracts.ReadOrders), edges: edges, until: max(min(w.To.UnixMilli()+1, now.UnixMilli()), w.From.UnixMilli()), now: now, zone: newZoneFormat(in.zone)}
	o.Query = ItemSummaryEcho{
		ItemID: r.ItemID, CapturedFrom: at(w.From), CapturedTo: at(w.To), CurrentFrom: at(now.Add(-CurrentOffers)), AsOf: at(now),
		Timezone: in.echo.Timezone, Beside: r.comparedWith(), Pairs: in.size.Pairs,
	}
	o.Data = []ItemMarket{}
	if in.empty || in.size.Pairs == 0 {
		return &o.ItemSummary, nil
	}
	noting(ctx).more = true // for the newest captures; a market for each currency
	records := int(in.size.Pairs) * (len(edges) - 1)
	giveBack() // callers that wait for room hold none
	o.bytes = latestBytes + pageBlocks + int64(records)*statisticBytes
	room, release, err := s.charge(ctx, o.bytes)
	if err != nil {
		return nil, err
	}
	defer release()
	o.room = room
	if err := inParallel(ctx, o.readWindow, o.readNewest, o.readFacts, o.readIntervals); err != nil {
		return nil, err
	}
	o.sum()
	return &o.ItemSummary, nil
}

// itemSumming is a summary that is being built.
type itemSumming struct {
	s     *Service
	in    *read
	r     ItemSummaryRequest
	edges []int64
	until int64
	// reasons: the caller may learn why nothing is known, and what the orders
	// are.
	reasons bool
	now     time.Time
	zone    *zoneFormat
	room    *admission.Room
	bytes   int64 // charged, without the runs

	days   []Statistic // by site, then day
	offers []offer
	newest map[contracts.SiteKey]newestCapture
	facts  siteFacts
	pairs  map[contracts.SiteKey]uint64
	own    ownPrices
	every  map[contracts.SiteKey]time.Duration // between two captures; none: not known
	runs   map[contracts.SiteKey]*captureRuns
	ItemSummary
}

// newestCapture is the newest capture of a pair.
type newestCapture struct {
	ms    int64
	state contracts.Outcome
}

// readWindow reads what happened in the window.
func (o *itemSumming) readWindow(ctx context.Context) error {
	if err := o.readDays(ctx); err != nil {
		return err
	}
	return o.readRuns(ctx)
}

func (o *itemSumming) readDays(ctx context.Context) error {
	q := StatisticsQuery{Rows: o.in.query, By: BySite, Edges: o.edges, Until: o.until, Limit: int(o.in.size.Pairs)*(len(o.edges)-1) + 1}
	found, err := o.s.store.Statistics(ctx, o.in.vis, &q)
	for _, st := range found {
		if !st.Whole {
			o.days = append(o.days, st)
		}
	}
	return err
}

// readNewest reads all offers of the newest capture of each site.
func (o *itemSumming) readNewest(ctx context.Context) error {
	q := o.in.query
	q.Window, q.FromNow, q.ToNow, q.Latest, q.Export = contracts.Window{}, false, false, NewestWhole, true
	o.newest = map[contracts.SiteKey]newestCapture{}
	texts := repeatedTexts{}
	return o.s.store.Results(ctx, o.in.vis, &q, func(b *Block) error {
		for i := range b.Len {
			site := contracts.SiteKey(b.Site.At(i))
			state := b.stateOf(i)
			if o.newest[site].state != contracts.PriceObserved { // one of its offers is enough
				o.newest[site] = newestCapture{b.CapturedMs[i], state}
			}
			if state == contracts.PriceObserved && b.CapturedMs[i] >= o.now.Add(-CurrentOffers).UnixMilli() {
				o.offers = append(o.offers, texts.offerOf(b, i))
			}
		}
		return nil
	})
}

// readFacts reads what is known about the product and the sites.
func (o *itemSumming) readFacts(ctx context.Context) (err error) {
	if o.pairs, err = o.s.store.PairsBySite(ctx, o.in.vis, o.in.query.Selectors); err != nil {
		return err
	}
	if o.facts, err = o.s.siteFacts(ctx, o.in.vis); err != nil {
		return err
	}
	items, err := o.s.store.itemsOf(ctx, o.in.vis, []contracts.ItemID{o.r.ItemID})
	if err != nil {
		return err
	}
	if len(items) > 0 {
		o.Query.Name = orNull(items[0].Name)
	}
	o.own, err = o.s.referencesOf(ctx, o.in.vis, []contracts.ItemID{o.r.ItemID})
	return err
}

// sum builds the records from what was read.
func (o *itemSumming) sum() {
	by := map[marketKey]*ItemMarket{}
	of := func(key marketKey) *ItemMarket {
		if by[key] == nil {
			by[key] = &ItemMarket{
				Country: orNull(key.country), CurrencyCode: key.currency, BuyBox: []ItemBoxHolder{}, Sites: []ItemSite{}, wins: map[string]uint64{},
			}
		}
		return by[key]
	}
	sites := slices.Sorted(maps.Keys(o.pairs))
	sites = slices.AppendSeq(sites, maps.Keys(o.newest)) // also of those without a visible pair any more
	slices.Sort(sites)
	for _, key := range slices.Compact(sites) {
		fact := o.facts[key]
		m := of(marketKey{fact.CountryCode, fact.CurrencyCode})
		site := o.site(key)
		if site.LastCapturedAt == nil {
			o.Query.NoResult++
		} else if ms := o.newest[key].ms; m.LastCapturedAt == nil || ms > m.lastMs {
			m.lastMs, m.LastCapturedAt = ms, site.LastCapturedAt
		}
		for _, st := range o.days {
			if st.Text == string(key) {
				m.count(st, fact.CanonicalCountryMarket)
				for _, price := range st.Prices {
					if price.Count == 0 { // seen before the day and carried into it
						continue
					}
					of(marketKey{fact.CountryCode, price.Currency}).extend(price, key, o.date(st))
				}
			}
		}
		m.Sites = append(m.Sites, site)
	}
	offered := markets{}
	for _, offer := range o.offers {
		fact := o.facts[offer.Site]
		offered.add(o.facts.boxed(offer), marketKey{fact.CountryCode, offer.Currency})
	}
	for _, m := range offered {
		m.customer = m.customerReference(o.own)
		of(m.marketKey).addOffers(m, o.r, o.zone)
	}
	for _, m := range by {
		m.shareBoxes()
		o.Data = append(o.Data, *m)
	}
	slices.SortFunc(o.Data, func(a, b ItemMarket) int {
		return cmp.Or(cmp.Compare(orEmpty(a.Country), orEmpty(b.Country)), cmp.Compare(a.CurrencyCode, b.CurrencyCode))
	})
}

// date is the day of a statistic.
func (o *itemSumming) date(st Statistic) string {
	return fromMs(o.edges[st.Bucket-1]).In(o.in.zone).Format(time.DateOnly)
}

// bound reports whether a day begins where the window ends: who asks up to a
// midnight means the days before it.
func (o *itemSumming) bound(begins int64) bool {
	return begins == o.in.query.Window.To.UnixMilli() && begins != o.edges[0]
}

func (o *itemSumming) site(key contracts.SiteKey) ItemSite {
	site := ItemSite{Site: key, CoverageState: "NO_RESULT", Days: []ItemDay{}}
	o.schedule(&site)
	site.Restricted, site.NotFound = o.runsOf(key, contracts.AccessRestricted), o.runsOf(key, contracts.ProductNotFound)
	if newest, ok := o.newest[key]; ok {
		site.LastCapturedAt, site.CoverageState = new(string(o.zone.append(nil, newest.ms))), string(coverageState.values.At(int(newest.state)))
		site.AccessRestricted = o.reasons && newest.state == contracts.AccessRestricted
	}
	for _, begins := range o.edges[:len(o.edges)-1] {
		if begins < o.until && !o.bound(begins) {
			site.DayCounts.NotObserved++
		}
	}
	for _, st := range o.days {
		if st.Text != string(key) {
			continue
		}
		site.Observations = site.Observations.plus(st)
		if o.bound(o.edges[st.Bucket-1]) {
			continue
		}
		state := dayUnknown
		switch {
		case st.OutMs > 0 && st.InMs > 0:
			state = dayPartly
		case st.OutMs > 0:
			state = dayOutOfStock
		case st.InMs > 0:
			state = dayInStock
		case o.reasons && st.RestrictedMs > 0:
			state = dayRestricted
		case st.UnknownMs == 0:
			continue
		}
		site.Days = append(site.Days, ItemDay{o.date(st), state})
		site.DayCounts.add(state)
	}
	return site
}
