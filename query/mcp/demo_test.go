package mcp_test

import (
	"iter"
	"log/slog"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	simulated "preismon/ingest/market"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
	"preismon/query/store"
)

// demo is the simulated market in the tables of a real store, written there by
// its events, and in memory: the rows that were written for one mandate.
type demo struct {
	agents  *agents
	db      *testserver.ClickHouseServer
	now     time.Time
	account contracts.AccountID
	other   contracts.AccountID // of another mandate, which watches nothing of the core order

	sites      map[contracts.SiteKey]contracts.Site
	items      map[contracts.ItemID]contracts.Item
	orders     []contracts.Order // the visible ones
	watched    map[contracts.MandateID]map[contracts.ItemID]bool
	references map[contracts.ItemID][]contracts.ReferencePrice
	categories map[contracts.ItemID]string
	exports    []contracts.FileArchive                    // of the core order
	files      map[contracts.ArchiveID][]byte             // their content
	captures   map[contracts.Pair][]contracts.Observation // of visible pairs, oldest first
}

// demoDays are enough to look back 168 hours from a change within the last 24
// hours.
const demoDays = 8

var demoWorld = testserver.Shared[*demo]{Make: fillDemo}

func TestMain(m *testing.M) { testserver.Main(m) }

// newDemo serves the demo to its first account, which sees everything of one
// mandate.
func newDemo(t testing.TB, change ...func(*agentSettings)) *demo {
	t.Helper()
	d := *demoWorld.Get(t)
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(d.db.QueryDSN)
	st := must.Get(store.New(cfg))(t)
	t.Cleanup(func() { st.Close() })
	d.agents = newAgents(t, nil, append([]func(*agentSettings){func(set *agentSettings) {
		set.store, set.now = st, func() time.Time { return d.now }
		set.query.SoftDeadline, set.query.HardBudget = 2*time.Minute, 4*time.Minute // a busy machine must not fail the test
	}}, change...)...)
	d.agents.archive.content = d.files
	return &d
}

// fillDemo fills a fresh database with the demo.
func fillDemo(t testing.TB) *demo {
	t.Helper()
	d := &demo{
		now:   time.Date(2026, 3, 4, 14, 30, 0, 0, time.UTC), // a Wednesday
		sites: map[contracts.SiteKey]contracts.Site{}, items: map[contracts.ItemID]contracts.Item{},
		categories: map[contracts.ItemID]string{}, references: map[contracts.ItemID][]contracts.ReferencePrice{}, captures: map[contracts.Pair][]contracts.Observation{},
		files: map[contracts.ArchiveID][]byte{}, watched: map[contracts.MandateID]map[contracts.ItemID]bool{},
	}
	m := must.Get(simulated.New(simulated.Config{Seed: 1, Now: d.now}))(t)
	db := testserver.ClickHouse(t)
	d.db = db
	must.Do(t, schema.Migrate(t.Context(), db.AdminDSN, schema.Options{}))
	dsn := must.Get(clickhouse.ParseDSN(db.ProjectorDSN))(t)
	pool := clickhouse.Open(dsn, 3)
	t.Cleanup(func() { _ = pool.Close() })
	cfg := projector.DefaultConfig()
	cfg.Fence, cfg.Logger = 1, slog.New(slog.DiscardHandler)
	p := must.Get(projector.New(cfg, pool))(t)
	login := m.Accounts()[0].LoginIdentifier
	for b := range batches(event.StreamCatalog, m.Catalog()) {
		must.Do(t, p.ApplyCatalog(t.Context(), b))
		for _, each := range b.Messages {
			d.learn(each.Event, login)
		}
	}
	d.keepVisible()
	for b := range batches(event.StreamObservations, m.Observations(d.now.AddDate(0, 0, -demoDays), d.now)) {
		must.Do(t, p.ApplyObservations(t.Context(), b))
		for _, each := range b.Messages {
			d.observe(each.Event.Data.(*contracts.Observations))
		}
	}
	for _, all := range d.captures {
		slices.SortStableFunc(all, func(a, b contracts.Observation) int { return a.CapturedAt.Compare(b.CapturedAt) })
	}
	for ref, content := range m.Artifacts() {
		if ref.OrderID == d.order(askedOrder).OrderID {
			d.files[ref.ArchiveID] = content
		}
	}
	return d
}

// batches packs events into batches of a stream.
func batches(stream string, events iter.Seq[*event.Event]) iter.Seq[*event.Batch] {
	return func(yield func(*event.Batch) bool) {
		next := func(after uint64) *event.Batch {
			return &event.Batch{Stream: stream, Epoch: 1_700_000_000, First: after + 1, Last: after}
		}
		b := next(0)
		for e := range events {
			b.Last++
			b.Messages = append(b.Messages, event.Message{Seq: b.Last, Stored: e.ProducedAt, Event: e})
			if len(b.Messages) == 2_000 {
				if !yield(b) {
					return
				}
				b = next(b.Last)
			}
		}
		yield(b)
	}
}

// learn keeps what a record of the catalogue says.
func (d *demo) learn(each *event.Event, login string) {
	switch r := each.Data.(type) {
	case *contracts.Site:
		d.sites[r.Site] = *r
	case *contracts.Item:
		d.items[r.ItemID] = *r
	case *contracts.Order:
		d.orders = append(d.orders, *r)
		if d.watched[r.MandateID] == nil {
			d.watched[r.MandateID] = map[contracts.ItemID]bool{}
		}
		for _, item := range r.Items {
			d.watched[r.MandateID][item] = true
		}
	case *contracts.Account:
		if r.LoginIdentifier == login {
			d.account = r.AccountID
			d.orders = slices.DeleteFunc(d.orders, func(o contracts.Order) bool { return o.MandateID != r.MandateID })
		} else if watched := d.watched[r.MandateID]; !slices.ContainsFunc(d.order(askedOrder).Items, func(i contracts.ItemID) bool { return watched[i] }) {
			d.other = r.AccountID
		}
	case *contracts.ReferencePrices:
		if r.MandateID == d.orders[0].MandateID {
			d.references[r.ItemID] = r.Prices
		}
	case *contracts.CustomerData:
		if r.MandateID == d.orders[0].MandateID {
			d.categories[r.ItemID] = r.Category
		}
	case *contracts.FileArchive:
		if r.OrderID == d.order(askedOrder).OrderID && each.Kind == event.KindExportArchive {
			d.exports = append(d.exports, *r)
		}
	}
}

// keepVisible keeps the orders that have visible products, and makes room for
// the captures of their pairs.
func (d *demo) keepVisible() {
	d.orders = slices.DeleteFunc(d.orders, func(o contracts.Order) bool { return !o.Active })
	for _, o := range d.orders {
		for _, item := range o.Items {
			for _, site := range o.Sites {
				d.captures[contracts.Pair{Item: item, Site: site}] = nil
			}
		}
	}
}

// observe keeps the captures of visible pairs.
func (d *demo) observe(b *contracts.Observations) {
	for _, o := range b.Observations {
		pair := contracts.Pair{Item: o.ItemID, Site: b.Site}
		if all, visible := d.captures[pair]; visible {
			d.captures[pair] = append(all, o)
		}
	}
}

// newest returns the last capture of a pair at or before until, and later than
// after.
func (d *demo) newest(pair contracts.Pair, after, until time.Time) (contracts.Observation, bool) {
	all := d.captures[pair]
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].CapturedAt.After(until) {
			return all[i], all[i].CapturedAt.After(after)
		}
	}
	return contracts.Observation{}, false
}

// featured returns the offer that stands for a capture; nil: it has none with a
// price (decision 025).
func (d *demo) featured(pair contracts.Pair, o contracts.Observation) *contracts.Offer {
	if o.Outcome != contracts.PriceObserved {
		return nil
	}
	flagged := d.sites[pair.Site].CanonicalCountryMarket
	var best *contracts.Offer
	for i := range o.Offers {
		if best == nil || standsBefore(flagged, &o.Offers[i], best) {
			best = &o.Offers[i]
		}
	}
	if best == nil || best.Price == nil {
		return nil
	}
	return best
}

func standsBefore(flagged bool, a, b *contracts.Offer) bool {
	rank := func(o *contracts.Offer) []int64 {
		holds, priced, shipped := int64(1), int64(1), int64(1)
		if flagged && o.IsBuyBox == contracts.FlagTrue {
			holds = 0
		}
		price, total := int64(0), int64(0)
		if o.Price != nil {
			priced, price = 0, *o.Price
			if o.Shipping != nil {
				shipped, total = 0, price+*o.Shipping
			}
		}
		return []int64{holds, priced, shipped, total, price}
	}
	return slices.Compare(rank(a), rank(b)) < 0
}

// pairs returns the visible pairs that take accepts, by item and site.
func (d *demo) pairs(take func(contracts.Pair) bool) []contracts.Pair {
	var all []contracts.Pair
	for pair := range d.captures {
		if take(pair) {
			all = append(all, pair)
		}
	}
	slices.SortFunc(all, contracts.Pair.Compare)
	return all
}

func (d *demo) order(name string) contracts.Order {
	at := slices.IndexFunc(d.orders, func(o contracts.Order) bool { return o.Name == name })
	return d.orders[at]
}
