package mcp_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// market is a store in memory: what the accounts of two mandates may see, by
// the same rules as in the tables.
type market struct {
	mu          sync.Mutex
	query.Store // nil: no tool calls what the market has not

	sites    []contracts.Site
	items    []contracts.Item
	orders   []contracts.Order
	accounts map[contracts.AccountID]*query.Access
	rows     []observed
	data     []contracts.CustomerData
	prices   []contracts.ReferencePrices
	files    []query.FileEntry
	// slow reports whether a read of results takes longer than it may.
	slow  func(*query.ResultsQuery) bool
	asked int // how often an account's access was read: one time per request
	// behind: the tables are as of an earlier watermark.
	behind bool
}

// observed is one offer, or an outcome without one.
type observed struct {
	contracts.Pair
	at       time.Time
	seq      uint64
	offer    uint16
	outcome  contracts.Outcome
	price    int64 // -1: none
	currency string
	merchant string
	buyBox   contracts.Flag
	title    string
}

func (m *market) compare(a, b observed) int {
	return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Site, b.Site), cmp.Compare(a.seq, b.seq), cmp.Compare(a.offer, b.offer))
}

// sees reports whether an order, or a pair of it, is visible.
func sees(v query.Visibility, o contracts.Order, site contracts.SiteKey) bool {
	return o.MandateID == v.Mandate && (v.Scope.AllOrders || slices.Contains(v.Scope.Orders, o.OrderID)) &&
		(site == "" || v.Scope.AllSites || slices.Contains(v.Scope.Sites, site))
}

// pairs returns the visible pairs under selectors.
func (m *market) pairs(v query.Visibility, s query.Selectors) map[contracts.Pair][]contracts.OrderID {
	all := map[contracts.Pair][]contracts.OrderID{}
	for _, o := range m.orders {
		if !o.Active || s.Order != 0 && s.Order != o.OrderID {
			continue
		}
		for _, id := range o.Items {
			if !selects(s, m.item(id)) {
				continue
			}
			for _, site := range o.Sites {
				if sees(v, o, site) && (s.Site == "" || s.Site == site) {
					pair := contracts.Pair{Item: id, Site: site}
					all[pair] = append(all[pair], o.OrderID)
				}
			}
		}
	}
	return all
}

func (m *market) item(id contracts.ItemID) contracts.Item {
	at, ok := slices.BinarySearchFunc(m.items, id, func(i contracts.Item, id contracts.ItemID) int { return cmp.Compare(i.ItemID, id) })
	if !ok {
		return contracts.Item{}
	}
	return m.items[at]
}

func selects(s query.Selectors, i contracts.Item) bool {
	return (s.Item == 0 || s.Item == i.ItemID) && (s.EAN == "" || s.EAN == i.EAN) && (s.PZN == "" || s.PZN == i.PZN) &&
		(s.ASIN == "" || s.ASIN == i.ASIN) && (s.ASINLocale == "" || s.ASINLocale == i.ASINLocale)
}

func (m *market) Access(_ context.Context, account contracts.AccountID) (*query.Access, error) {
	m.mu.Lock()
	m.asked++
	m.mu.Unlock()
	if a, ok := m.accounts[account]; ok {
		now := *a
		now.Watermark = query.Watermark{Epoch: 1, Seq: 1 << 40}
		if m.behind {
			now.Watermark.Seq = 1 << 39
		}
		return &now, nil
	}
	return nil, fault.New(fault.NotFound, "", "no such account")
}

func (m *market) Sites(_ context.Context, v query.Visibility, q query.SitesQuery) (found []contracts.Site, err error) {
	seen := map[contracts.SiteKey]bool{}
	for pair := range m.pairs(v, query.Selectors{Site: q.Site}) {
		seen[pair.Site] = true
	}
	for _, s := range m.sites {
		if seen[s.Site] && s.Site > q.After && len(found) < q.Limit {
			found = append(found, s)
		}
	}
	return found, nil
}

func (m *market) visible(v query.Visibility, s query.Selectors) []contracts.ItemID {
	all := map[contracts.ItemID]bool{}
	for pair := range m.pairs(v, s) {
		all[pair.Item] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (m *market) Items(_ context.Context, v query.Visibility, after contracts.ItemID, limit int) (found []contracts.Item, err error) {
	for _, id := range m.visible(v, query.Selectors{}) {
		if id > after && len(found) < limit {
			found = append(found, m.item(id))
		}
	}
	return found, nil
}

func (m *market) ItemCandidates(_ context.Context, v query.Visibility, q query.ItemsQuery) (found []contracts.ItemID, err error) {
	s := query.Selectors{Item: q.ItemID, EAN: q.EAN, PZN: q.PZN, ASIN: q.ASIN, ASINLocale: q.ASINLocale}
	for _, id := range m.visible(v, s) {
		if id > q.After && (q.Category == "" || m.category(v, id) == q.Category) && len(found) < q.Limit {
			found = append(found, id)
		}
	}
	return found, nil
}

func (m *market) category(v query.Visibility, id contracts.ItemID) string {
	for _, d := range m.data {
		if d.MandateID == v.Mandate && d.ItemID == id {
			return d.Category
		}
	}
	return ""
}

func (m *market) VisibleItems(_ context.Context, v query.Visibility, items []contracts.ItemID, limit int) (found []contracts.Item, err error) {
	for _, id := range m.visible(v, query.Selectors{}) {
		if slices.Contains(items, id) && len(found) < limit {
			found = append(found, m.item(id))
		}
	}
	return found, nil
}

func (m *market) Categories(_ context.Context, v query.Visibility, q query.CategoriesQuery) ([]string, error) {
	all := map[string]bool{}
	for _, id := range m.visible(v, query.Selectors{}) {
		if c := m.category(v, id); c != "" && (q.Category == "" || q.Category == c) {
			all[c] = true
		}
	}
	found := slices.Sorted(maps.Keys(all))
	return found[:min(q.Limit, len(found))], nil
}

func (m *market) ASINLocales(_ context.Context, v query.Visibility, limit int) ([]string, error) {
	all := map[string]bool{}
	for _, id := range m.visible(v, query.Selectors{}) {
		if locale := m.item(id).ASINLocale; locale != "" {
			all[locale] = true
		}
	}
	found := slices.Sorted(maps.Keys(all))
	return found[:min(limit, len(found))], nil
}

func (m *market) Orders(_ context.Context, v query.Visibility, q query.OrdersQuery) (found []contracts.Order, err error) {
	for _, o := range m.orders {
		if o.OrderID > q.After && sees(v, o, "") && (q.OrderID == 0 || q.OrderID == o.OrderID) && (q.Alias == "" || q.Alias == o.Alias) && len(found) < q.Limit {
			o.Items, o.Sites = nil, nil
			found = append(found, o)
		}
	}
	return found, nil
}

func (m *market) OrderScope(_ context.Context, v query.Visibility, orders []contracts.OrderID, atMost int) (s query.OrderScope, err error) {
	for _, id := range orders {
		s.References += uint64(len(m.orderItems(v, id)))
		s.Candidates += uint64(len(m.pairs(v, query.Selectors{Order: id})))
	}
	return query.OrderScope{References: min(s.References, uint64(atMost)), Candidates: min(s.Candidates, uint64(atMost))}, nil
}

func (m *market) orderItems(v query.Visibility, id contracts.OrderID) []contracts.ItemID {
	return m.visible(v, query.Selectors{Order: id})
}

func (m *market) OrderSites(_ context.Context, v query.Visibility, orders []contracts.OrderID, limit int) (found []query.OrderSite, err error) {
	for _, id := range orders {
		seen := map[contracts.SiteKey]bool{}
		for pair := range m.pairs(v, query.Selectors{Order: id}) {
			seen[pair.Site] = true
		}
		for site := range seen {
			if len(found) < limit {
				found = append(found, query.OrderSite{Order: id, Site: site})
			}
		}
	}
	return found, nil
}

func (m *market) OrderPairs(_ context.Context, v query.Visibility, q query.OrderPairsQuery) (found []query.OrderPair, err error) {
	all := map[contracts.Pair][]contracts.OrderID{}
	for _, id := range q.Orders {
		for pair := range m.pairs(v, query.Selectors{Order: id, Site: q.Site}) {
			all[pair] = append(all[pair], id)
		}
	}
	for _, pair := range slices.SortedFunc(maps.Keys(all), contracts.Pair.Compare) {
		if pair.Compare(q.After) <= 0 || len(found) == q.Limit {
			continue
		}
		p := query.OrderPair{Pair: pair, Orders: all[pair]}
		for _, r := range m.rows {
			if r.Pair == pair && r.at.After(p.CapturedAt) {
				p.CapturedAt, p.Outcome = r.at, r.outcome
			}
		}
		found = append(found, p)
	}
	return found, nil
}

func (m *market) Memberships(context.Context, query.Visibility, []contracts.OrderID, []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error) {
	return nil, nil
}

func (m *market) CountPairs(_ context.Context, v query.Visibility, s query.Selectors) (query.ScopeSize, error) {
	items, sites := map[contracts.ItemID]bool{}, map[contracts.SiteKey]bool{}
	all := m.pairs(v, s)
	for pair := range all {
		items[pair.Item], sites[pair.Site] = true, true
	}
	return query.ScopeSize{Pairs: uint64(len(all)), Items: uint64(len(items)), Sites: uint64(len(sites))}, nil
}

func (m *market) PairsBySite(_ context.Context, v query.Visibility, s query.Selectors) (map[contracts.SiteKey]uint64, error) {
	all := map[contracts.SiteKey]uint64{}
	for pair := range m.pairs(v, s) {
		all[pair.Site]++
	}
	return all, nil
}

func (m *market) ScopeItems(_ context.Context, v query.Visibility, s query.Selectors, limit int) ([]contracts.ItemID, error) {
	found := m.visible(v, s)
	return found[:min(limit, len(found))], nil
}

func (m *market) ItemRecords(_ context.Context, ids []contracts.ItemID) (found []contracts.Item, err error) {
	for _, i := range m.items {
		if slices.Contains(ids, i.ItemID) {
			found = append(found, i)
		}
	}
	return found, nil
}

func (m *market) ReferencePrices(_ context.Context, v query.Visibility, ids []contracts.ItemID) (found []contracts.ReferencePrices, err error) {
	for _, p := range m.prices {
		if p.MandateID == v.Mandate && slices.Contains(ids, p.ItemID) {
			found = append(found, p)
		}
	}
	return found, nil
}

func (m *market) CustomerData(_ context.Context, v query.Visibility, ids []contracts.ItemID) (found []contracts.CustomerData, err error) {
	for _, d := range m.data {
		if d.MandateID == v.Mandate && slices.Contains(ids, d.ItemID) {
			found = append(found, d)
		}
	}
	return found, nil
}

func (m *market) PairOrders(_ context.Context, v query.Visibility, _ []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	return m.pairs(v, query.Selectors{}), nil
}

func (m *market) LastProcessed(context.Context, query.Visibility, []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	return nil, nil
}

func (m *market) CatalogueVersions(context.Context, query.Visibility, query.Include) ([]uint64, error) {
	return nil, nil
}

func (m *market) SiteRecords(context.Context) ([]contracts.Site, error) { return m.sites, nil }
