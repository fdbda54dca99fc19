package rest_test

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// memory is a store in memory, sufficient to serve every route except those
// about orders.
type memory struct {
	query.Store

	mu       sync.Mutex
	accounts map[contracts.AccountID]*query.Access
	sites    []contracts.Site
	items    []contracts.Item
	rows     []row
	broken   func(method string) error // called before each read
	blockMax int
	each     func(n int) error // called before block n of results
	ended    chan error        // how each read of results ended

	generation uint64
	behind     bool  // the tables are as of an earlier watermark
	later      []row // rows that arrive beyond the previous watermark
}

type row struct {
	item     contracts.ItemID
	site     contracts.SiteKey
	captured time.Time
	price    int64
	seq      uint64
}

func newMemory() *memory {
	whole := query.Visibility{Mandate: 1, Versions: []uint64{1}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	m := &memory{
		accounts: map[contracts.AccountID]*query.Access{
			reader: {Account: reader, Permissions: contracts.Permissions(), Visibility: whole},
			narrow: {Account: narrow, Permissions: []contracts.Permission{contracts.ReadSites}, Visibility: whole},
		},
		sites: []contracts.Site{
			{Site: "market-de", Name: "Market <Germany> & more", SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR", Operator: "Market", CanonicalCountryMarket: true},
			{Site: "shop-one", Name: "Shop One", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"},
			{Site: "shop-two", Name: "Shop Two", SiteType: contracts.Shop, CountryCode: "JP", CurrencyCode: "JPY"},
		},
		items: []contracts.Item{
			{ItemID: 11, EAN: "4006381333931", Name: "Marker", Brand: "Example"},
			{ItemID: 12, PZN: "01234562", Name: "Tablets", Manufacturer: "Maker"},
			{ItemID: 13, ASIN: "B000000001", ASINLocale: "de", Name: "Book"},
			{ItemID: 14, ASIN: "B000000001", ASINLocale: "co.uk"},
		},
		blockMax: 7,
		ended:    make(chan error, 100),
	}
	start := time.Now().UTC().Add(-20 * time.Hour).Truncate(time.Millisecond)
	for i := range 50 {
		m.rows = append(m.rows, row{
			item: m.items[i%4].ItemID, site: m.sites[i%3].Site, captured: start.Add(time.Duration(i) * time.Minute), price: int64(1000 + i), seq: uint64(i + 1),
		})
	}
	return m
}

func (m *memory) breakDown(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = f
}

func (m *memory) ask(method string) error {
	m.mu.Lock()
	f := m.broken
	m.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(method)
}

func (m *memory) Access(_ context.Context, account contracts.AccountID) (*query.Access, error) {
	if err := m.ask("Access"); err != nil {
		return nil, err
	}
	if a, ok := m.accounts[account]; ok {
		now := *a
		edge, err := m.Edge(context.Background())
		now.Watermark, now.Generation = edge.Watermark, edge.Generation
		return &now, err
	}
	return nil, fault.New(fault.NotFound, "", "no such account")
}

// Edge implements query.Store.
func (m *memory) Edge(context.Context) (query.Edge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edge := query.Edge{Watermark: query.Watermark{Epoch: 1, Seq: 1<<40 + uint64(len(m.later))}, Generation: m.generation}
	if m.behind {
		edge.Watermark.Seq = 1 << 39
	}
	return edge, nil
}

// arrive makes rows visible that were captured now.
func (m *memory) arrive(n int) { m.arriveLate(n, 0) }

// arriveLate makes rows visible that were captured a while ago.
func (m *memory) arriveLate(n int, ago time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.later = append(m.later, row{item: 11, site: "shop-one", captured: time.Now().Add(-ago), price: 1_500, seq: 1<<40 + uint64(len(m.later)) + 1})
	}
}

// rebuild simulates a rebuild of the rows.
func (m *memory) rebuild() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
}

// fallBehind simulates a restore of older tables, and its end.
func (m *memory) fallBehind(behind bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behind = behind
}

// Feed implements query.Store.
func (m *memory) Feed(_ context.Context, _ query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	if err := m.ask("Feed"); err != nil {
		return err
	}
	m.mu.Lock()
	var found []row
	for _, r := range m.later {
		if r.seq > q.After.Seq && r.seq <= q.Rows.Watermark.Seq && len(found) < q.Limit && (q.Rows.Selectors.Site == "" || q.Rows.Selectors.Site == r.site) &&
			!r.captured.Before(q.Rows.Window.From) && (q.Rows.Window.To.IsZero() || !r.captured.After(q.Rows.Window.To)) {
			found = append(found, r)
		}
	}
	m.mu.Unlock()
	if len(found) == 0 {
		return nil
	}
	return each(blockOf(found))
}

// Silences implements query.Store.
func (m *memory) Silences(_ context.Context, _ query.Visibility, q *query.SilencesQuery, each func(*query.Block) error) error {
	if err := m.ask("Silences"); err != nil {
		return err
	}
	m.mu.Lock()
	rows := slices.Concat(m.rows, m.later)
	m.mu.Unlock()
	var found []row
	for _, r := range rows {
		silent := !slices.ContainsFunc(rows, func(o row) bool {
			return o.item == r.item && o.site == r.site && o.captured.After(r.captured) && !o.captured.After(r.captured.Add(q.For))
		})
		ms := r.captured.UnixMilli()
		if silent && ms >= q.Rows.Window.From.UnixMilli() && ms <= q.Rows.Window.To.UnixMilli() && (q.Rows.Selectors.Site == "" || q.Rows.Selectors.Site == r.site) &&
			cmp.Or(cmp.Compare(ms, q.Rows.After.CapturedMs), cmp.Compare(r.item, q.Rows.After.Item), cmp.Compare(r.site, q.Rows.After.Site)) > 0 {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b row) int {
		return cmp.Or(a.captured.Compare(b.captured), cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site))
	})
	return each(blockOf(found[:min(len(found), q.Rows.Limit)]))
}

func (m *memory) Sites(_ context.Context, _ query.Visibility, q query.SitesQuery) ([]contracts.Site, error) {
	if err := m.ask("Sites"); err != nil {
		return nil, err
	}
	var found []contracts.Site
	for _, s := range m.sites {
		if s.Site > q.After && (q.Site == "" || s.Site == q.Site) && len(found) < q.Limit {
			found = append(found, s)
		}
	}
	return found, nil
}

func (m *memory) Items(_ context.Context, _ query.Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
	if err := m.ask("Items"); err != nil {
		return nil, err
	}
	var found []contracts.Item
	for _, i := range m.items {
		if i.ItemID > after && len(found) < limit {
			found = append(found, i)
		}
	}
	return found, nil
}

func selects(s query.Selectors, i contracts.Item) bool {
	return (s.Item == 0 || s.Item == i.ItemID) && (s.EAN == "" || s.EAN == i.EAN) && (s.PZN == "" || s.PZN == i.PZN) &&
		(s.ASIN == "" || s.ASIN == i.ASIN) && (s.ASINLocale == "" || s.ASINLocale == i.ASINLocale)
}

func (m *memory) CountPairs(context.Context, query.Visibility, query.Selectors) (query.ScopeSize, error) {
	return query.ScopeSize{Pairs: 12, Items: 4, Sites: 3}, m.ask("CountPairs")
}

func (m *memory) PairsBySite(context.Context, query.Visibility, query.Selectors) (map[contracts.SiteKey]uint64, error) {
	return map[contracts.SiteKey]uint64{"shop-one": 4, "shop-two": 4, "market-de": 4}, m.ask("PairsBySite")
}

func (m *memory) ScopeItems(_ context.Context, _ query.Visibility, _ query.Selectors, limit int) ([]contracts.ItemID, error) {
	return []contracts.ItemID{11, 12, 13, 14}[:min(limit, 4)], m.ask("ScopeItems")
}

func (m *memory) Results(ctx context.Context, _ query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) (err error) {
	defer func() { m.ended <- err }()
	if err := m.ask("Results"); err != nil {
		return err
	}
	var found []row
	rows := m.rows
	if q.Selectors.Items != "" { // earlier rows of what a feed returned
		m.mu.Lock()
		rows = slices.Clone(m.later)
		m.mu.Unlock()
	}
	for _, r := range rows {
		item := m.items[slices.IndexFunc(m.items, func(i contracts.Item) bool { return i.ItemID == r.item })]
		if !selects(q.Selectors, item) || q.Selectors.Site != "" && q.Selectors.Site != r.site ||
			!q.Window.From.IsZero() && r.captured.Before(q.Window.From) || !q.Window.To.IsZero() && r.captured.After(q.Window.To) {
			continue
		}
		if after := q.After; after != nil {
			order := cmp.Or(cmp.Compare(r.captured.UnixMilli(), after.CapturedMs), cmp.Compare(r.item, after.Item))
			if q.Ascending && order <= 0 || !q.Ascending && order >= 0 {
				continue
			}
		}
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b row) int {
		order := a.captured.Compare(b.captured)
		if q.Ascending {
			return order
		}
		return -order
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	n := 0
	for part := range slices.Chunk(found, m.blockMax) {
		if m.each != nil {
			if err := m.each(n); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(blockOf(part)); err != nil {
			return err
		}
		n++
	}
	if m.each != nil {
		return m.each(n)
	}
	return nil
}

func blockOf(rows []row) *query.Block {
	b := &query.Block{Len: len(rows)}
	add := func(d *query.Dict, s string) {
		d.Index = append(d.Index, uint32(d.Values.Len()))
		d.Values.Append(s)
	}
	for _, r := range rows {
		b.Item = append(b.Item, uint64(r.item))
		add(&b.Site, string(r.site))
		b.CapturedMs = append(b.CapturedMs, r.captured.UnixMilli())
		b.Epoch, b.Seq = append(b.Epoch, 1), append(b.Seq, r.seq)
		b.Capture, b.Offer = append(b.Capture, 0), append(b.Offer, 0)
		b.Outcome = append(b.Outcome, uint8(contracts.PriceObserved))
		add(&b.Currency, "EUR")
		b.PriceMinor = append(b.PriceMinor, r.price)
		add(&b.Merchant, "Merchant \"One\"")
		b.ShippingMinor = append(b.ShippingMinor, -1)
		b.IsPrime, b.IsBuyBox = append(b.IsPrime, uint8(contracts.FlagTrue)), append(b.IsBuyBox, uint8(contracts.FlagFalse))
		b.RatingTenths = append(b.RatingTenths, contracts.NoRating)
		add(&b.Manufacturer, "")
		add(&b.DeliveryText, "tomorrow")
		b.Title.Append("a title")
		b.URL.Append("")
	}
	return b
}

func (m *memory) ItemRecords(_ context.Context, ids []contracts.ItemID) (found []contracts.Item, err error) {
	for _, i := range m.items {
		if slices.Contains(ids, i.ItemID) {
			found = append(found, i)
		}
	}
	return found, m.ask("ItemRecords")
}

func (m *memory) ReferencePrices(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.ReferencePrices, error) {
	return []contracts.ReferencePrices{{MandateID: 1, ItemID: 11, Prices: []contracts.ReferencePrice{
		{AmountMinor: 999, CurrencyCode: "EUR", PriceType: "purchase", ReferenceQuantity: "1"},
	}}}, nil
}

func (m *memory) CustomerData(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.CustomerData, error) {
	return []contracts.CustomerData{{MandateID: 1, ItemID: 11, Fields: map[string]string{"shelf": "A 4"}}}, nil
}

func (m *memory) PairOrders(context.Context, query.Visibility, []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	return map[contracts.Pair][]contracts.OrderID{{Item: 11, Site: "market-de"}: {5, 6}}, nil
}

func (m *memory) LastProcessed(context.Context, query.Visibility, []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	return map[contracts.Pair]time.Time{{Item: 11, Site: "market-de"}: time.Unix(1_790_000_000, 0)}, nil
}

func (m *memory) CatalogueVersions(context.Context, query.Visibility, query.Include) ([]uint64, error) {
	return nil, nil
}

func (m *memory) SiteRecords(context.Context) ([]contracts.Site, error) { return m.sites, nil }

var errBroken = errors.New("secret cause at 10.0.0.7")

func trust(prefix string) func(*settings) {
	return func(s *settings) { s.rest.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(prefix)} }
}

// Statistics returns one record for each item, without values.
func (m *memory) Statistics(_ context.Context, _ query.Visibility, q *query.StatisticsQuery) (found []query.Statistic, err error) {
	if err := m.ask("Statistics"); err != nil {
		return nil, err
	}
	found = append(found, query.Statistic{Whole: true, Pairs: uint64(len(m.items))})
	for _, i := range m.items {
		if at := (query.StatisticPosition{Item: i.ItemID, Bucket: 1}); i.ItemID > q.After.Item && len(found) < q.Limit {
			found = append(found, query.Statistic{StatisticPosition: at, Pairs: 1, Unknown: 1})
		}
	}
	return found, nil
}

// RowsAtMost has no index: it returns the number of all rows.
func (m *memory) RowsAtMost(context.Context, query.Visibility, *query.ResultsQuery) (query.AtMost, error) {
	n := uint64(len(m.rows))
	return query.AtMost{Rows: &n, Scanned: &n}, m.ask("RowsAtMost")
}

// Windows returns no rows.
func (m *memory) Windows(context.Context, query.Visibility, *query.WindowsQuery) ([]query.WindowRows, error) {
	return nil, m.ask("Windows")
}

// EventIDs returns none.
func (m *memory) EventIDs(context.Context, []query.Watermark) (map[query.Watermark]string, error) {
	return nil, m.ask("EventIDs")
}

// VisibleTimes returns none.
func (m *memory) VisibleTimes(context.Context, []query.Watermark) (map[query.Watermark]time.Time, error) {
	return nil, m.ask("VisibleTimes")
}

// ItemsNamed returns all items.
func (m *memory) ItemsNamed(context.Context, query.Visibility, query.ItemNames) ([]contracts.Item, error) {
	return m.items, m.ask("ItemsNamed")
}
