package store_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/store"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// obsRow is one row as the tables hold it.
type obsRow struct {
	item     uint64
	site     string
	ms       int64
	epoch    uint32
	seq      uint64
	capture  uint16
	offer    uint16
	outcome  contracts.Outcome
	price    int64
	shipping *int64 // nil: not observed
	currency string // empty: EUR, if there is a price
	merchant string
	prime    contracts.Flag
	buyBox   contracts.Flag
}

func (r obsRow) pair() contracts.Pair {
	return contracts.Pair{Item: contracts.ItemID(r.item), Site: contracts.SiteKey(r.site)}
}

// compareDesc is the order of results, newest first.
func compareDesc(a, b obsRow) int {
	return cmp.Or(-cmp.Compare(a.ms, b.ms), cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site),
		cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture), cmp.Compare(a.offer, b.offer))
}

// world is a small market in the tables, and in memory for the oracle. Its rows
// are written by this test directly, so that reading is judged independently of
// the projector.
type world struct {
	t       testing.TB
	conn    driver.Conn
	cfg     store.Config // of store
	store   *store.Store
	admin   string // DSN
	service *query.Service
	single  *query.Service // the original service, where a test replaces the other
	now     time.Time
	rows    []obsRow
	epoch   uint32 // of inserted rows
	mark    uint64
	scopes  map[contracts.MandateID]map[contracts.Pair][]contracts.OrderID
	more    map[contracts.AccountID]contracts.MandateID // accounts of additional mandates, each of which sees all of its mandate
	written atomic.Pointer[event.Written]               // another after each write; nil: no notifications
}

const (
	epoch        = 1_700_000_000
	mandateOne   = contracts.MandateID(1)
	mandateTwo   = contracts.MandateID(2)
	accountWhole = contracts.AccountID(11) // all of mandate one
	accountOrder = contracts.AccountID(12) // one order of mandate one
	accountSites = contracts.AccountID(13) // two sites of mandate one
	accountNone  = contracts.AccountID(14) // nothing of mandate one
	accountOther = contracts.AccountID(21) // all of mandate two
	orderA       = contracts.OrderID(101)
	orderB       = contracts.OrderID(102)
	orderC       = contracts.OrderID(201)
)

var worldSites = []string{"alpha.example", "beta.example", "gamma.example", "market.example"}

func newWorld(t testing.TB, seed uint64, n int) *world {
	t.Helper()
	db := migrated.ClickHouse(t)
	opt := must.Get(clickhouse.ParseDSN(db.AdminDSN))(t)
	conn := must.Get(clickhouse.Open(opt))(t)
	t.Cleanup(func() { conn.Close() })
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(db.QueryDSN)
	cfg.SliceRows = 40 // so that even short streams are cut
	cfg.PairRows = 20  // so that some reads of an order are done by pair
	w := &world{t: t, conn: conn, epoch: epoch, now: time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)}
	cfg.Written = func(context.Context) *event.Written { return w.written.Load() }
	w.cfg = cfg
	st := must.Get(store.New(cfg))(t)
	t.Cleanup(func() { st.Close() })
	w.serve(st)
	w.admin, w.single = db.AdminDSN, w.service
	w.scopes = map[contracts.MandateID]map[contracts.Pair][]contracts.OrderID{mandateOne: {}, mandateTwo: {}}
	order := func(m contracts.MandateID, id contracts.OrderID, items []uint64, sites []string) {
		for _, i := range items {
			for _, s := range sites {
				p := contracts.Pair{Item: contracts.ItemID(i), Site: contracts.SiteKey(s)}
				w.scopes[m][p] = append(w.scopes[m][p], id)
			}
		}
	}
	order(mandateOne, orderA, []uint64{1, 2, 3, 4}, worldSites[:3])
	order(mandateOne, orderB, []uint64{3, 4, 5}, worldSites[2:])
	order(mandateTwo, orderC, []uint64{4, 5, 6}, worldSites)
	w.writeCatalog()
	w.insert(rand.New(rand.NewPCG(seed, 1)), n, 0)
	w.setMark(w.mark)
	return w
}

// serve replaces the service by one over the store.
func (w *world) serve(st *store.Store) {
	w.t.Helper()
	w.service, w.store = w.over(st, func(*query.Config) {}), st
}

// over returns a service over a store, with limits changed from the defaults.
func (w *world) over(st query.Store, limit func(*query.Config)) *query.Service {
	w.t.Helper()
	qc := query.Defaults()
	qc.CursorKey = "0123456789abcdef0123456789abcdef"
	limit(&qc)
	s := must.Get(query.New(qc, st, func() time.Time { return w.now }))(w.t)
	w.t.Cleanup(func() { must.Do(w.t, s.Close()) })
	return s
}

// statements are the statements that a store ran.
type statements struct {
	mu  sync.Mutex
	all []store.StatementEnded
}

// take returns those with the given names, or all, and forgets everything so
// far.
func (s *statements) take(names ...string) []store.StatementEnded {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return slices.DeleteFunc(all, func(a store.StatementEnded) bool { return len(names) > 0 && !slices.Contains(names, a.Statement) })
}

// listen puts the service over another store with the world's configuration,
// and returns the statements that this store runs.
func (w *world) listen() *statements {
	w.t.Helper()
	var s statements
	w.cfg.OnStatement = func(a store.StatementEnded) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, a)
	}
	st := must.Get(store.New(w.cfg))(w.t)
	w.t.Cleanup(func() { st.Close() })
	w.serve(st)
	return &s
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if err := w.conn.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	if w.written.Load() == nil {
		return
	}
	if !strings.Contains(sql, "checkpoints") && !strings.Contains(sql, "observations") {
		w.notify("CATALOG")
		w.notify("IN_FORCE")
	}
	w.written.Store(&event.Written{})
}

// reports notifies readers of each write from now on, as projectors do: only
// after a notification do they read again how far the tables are, and what an
// account may see.
func (w *world) reports() {
	w.t.Helper()
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	w.written.Store(&event.Written{})
}

func (w *world) writeCatalog() {
	var sites, items, accounts, pairs, scopes, applied []string
	for i, s := range worldSites {
		sites = append(sites, fmt.Sprintf("('%s', 'Site %s', 'shop', 'DE', 'EUR', '', %t, %t, 1)", s, s, s == "market.example", i == 0))
	}
	for i := uint64(1); i <= 6; i++ {
		ean := []string{"", "4006381333931", "5901234123457", "", "96385074", "4006381333931"}[i-1]
		items = append(items, fmt.Sprintf(`(%d, '%s', '', '', '', 'Item %d "quoted" \\ tab\tend', '%s', 'Maker', 1)`, i, ean, i, []string{"A", "B"}[i%2]))
	}
	all := "['sites','items','orders','results','files']"
	account := func(id contracts.AccountID, m contracts.MandateID, allOrders bool, orders string, allSites bool, sites string) {
		accounts = append(accounts, fmt.Sprintf("(%d, %d, 'u%d', 'h', false, false, %s, %t, %s, %t, %s, 1)", id, m, id, all, allOrders, orders, allSites, sites))
	}
	account(accountWhole, mandateOne, true, "[]", true, "[]")
	account(accountOrder, mandateOne, false, "[102]", true, "[]")
	account(accountSites, mandateOne, true, "[]", false, "['alpha.example','gamma.example']")
	account(accountNone, mandateOne, false, "[]", true, "[]")
	account(accountOther, mandateTwo, true, "[]", true, "[]")
	for m, of := range w.scopes {
		pairs = append(pairs, scopeRows(m, 7, of)...)
		scopes = append(scopes, fmt.Sprintf("(%d, 7, %d, 6)", m, len(of)))
		applied = append(applied, fmt.Sprintf("(%d, 0, 7)", m))
	}
	for table, rows := range map[string][]string{"sites": sites, "items": items, "accounts": accounts, "scope_pairs": pairs, "scopes": scopes, "scopes_applied": applied} {
		w.exec("INSERT INTO " + table + " VALUES " + strings.Join(rows, ", "))
	}
}

// scopeRows returns the rows of scope_pairs for a version of a mandate's scope.
func scopeRows(m contracts.MandateID, version uint64, pairs map[contracts.Pair][]contracts.OrderID) (rows []string) {
	for p, orders := range pairs {
		rows = append(rows, fmt.Sprintf("(%d, %d, %d, '%s', %s)", m, version, p.Item, p.Site, strings.ReplaceAll(fmt.Sprint(ids(orders)), " ", ", ")))
	}
	return rows
}

func ids(orders []contracts.OrderID) []uint64 {
	var out []uint64
	for _, o := range orders {
		out = append(out, uint64(o))
	}
	return out
}

func (w *world) setMark(seq uint64) {
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", w.epoch, seq)
}

// insert adds about n rows: with many equal capture times, several offers,
// every outcome, and captures that arrive late.
func (w *world) insert(r *rand.Rand, n int, after time.Duration) {
	w.t.Helper()
	var fresh []obsRow
	for len(fresh) < n {
		w.mark++
		for capture := range uint16(1 + r.IntN(4)) {
			base := obsRow{
				item: 1 + r.Uint64N(6), site: worldSites[r.IntN(len(worldSites))], epoch: w.epoch, seq: w.mark, capture: capture,
				// hours of the last ten days, a third of them tied to the same
				// few instants
				ms:      w.now.Add(after - time.Duration(r.IntN(240*4))*15*time.Minute).UnixMilli(),
				outcome: contracts.Outcome(r.IntN(6)), price: -1,
			}
			if r.IntN(3) > 0 {
				base.ms += r.Int64N(1000)
			}
			if base.outcome != contracts.PriceObserved {
				fresh = append(fresh, base)
				continue
			}
			for offer := range uint16(1 + r.IntN(3)) {
				row := base
				row.offer, row.price = offer, r.Int64N(100_000)
				if r.IntN(3) == 0 {
					row.price = -1 + r.Int64N(3) // none, or one that occurs elsewhere, too
				}
				if r.IntN(3) > 0 {
					row.shipping = ptr(r.Int64N(4) * 500)
				}
				if r.IntN(8) == 0 {
					row.currency = []string{"CHF", "JPY"}[r.IntN(2)]
				}
				row.merchant = fmt.Sprintf("Merchant %d's \\ shop", r.IntN(4))
				row.prime, row.buyBox = contracts.Flag(r.IntN(3)), contracts.Flag(r.IntN(3))
				fresh = append(fresh, row)
			}
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
}

func (w *world) write(fresh []obsRow) {
	w.t.Helper()
	ctx := context.Background()
	const columns = "epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text"
	values := func(r obsRow) []any {
		currency := r.currency
		if currency == "" && r.price >= 0 {
			currency = "EUR"
		}
		shipping := int64(-1)
		if r.shipping != nil {
			shipping = *r.shipping
		}
		return []any{
			r.epoch, r.seq, r.capture, r.offer, r.outcome.String(), currency, r.price, shipping, r.merchant, uint8(r.prime), uint8(r.buyBox),
			uint8(43), "Maker GmbH", "Titel \"" + r.site, "https://" + r.site + "/" + fmt.Sprint(r.item), "sofort",
		}
	}
	batch := func(table, keys string) driver.Batch {
		b := must.Get(w.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+keys+", "+columns+")"))(w.t)
		return b
	}
	all, own := batch("observations", "item, site, captured_at"), batch("observations_by_mandate", "mandate, captured_desc, item, site")
	for _, r := range fresh {
		must.Do(w.t, all.Append(append([]any{r.item, r.site, time.UnixMilli(r.ms).UTC()}, values(r)...)...))
		for m, pairs := range w.scopes {
			if _, ok := pairs[r.pair()]; ok {
				must.Do(w.t, own.Append(append([]any{uint64(m), -r.ms, r.item, r.site}, values(r)...)...))
			}
		}
	}
	must.Do(w.t, all.Send())
	must.Do(w.t, own.Send())
	// latest_observations from the truth, as its comment defines it.
	w.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT item, site, captured_at, epoch, seq, capture, any(outcome), groupArray(offer), groupArray(currency), groupArray(price_minor),
			groupArray(shipping_minor), groupArray(merchant), groupArray(is_prime), groupArray(is_buy_box), groupArray(rating_tenths),
			groupArray(manufacturer), groupArray(title), groupArray(url), groupArray(delivery_text)
		FROM (SELECT * FROM observations ORDER BY item, site, captured_at, epoch, seq, capture, offer)
		WHERE (item, site, captured_at, epoch, seq, capture) IN (
			SELECT item, site, m.1, m.2, m.3, m.4 FROM (SELECT item, site, max((captured_at, epoch, seq, capture)) AS m FROM observations GROUP BY item, site))
		GROUP BY item, site, captured_at, epoch, seq, capture`)
}
