package projector_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // reads back what ch-go wrote
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

const epoch = 1_700_000_000

// world is a database, a projector on it, and the oracle that says what the
// tables must hold.
type world struct {
	t      testing.TB
	server *testserver.ClickHouseServer
	db     *sql.DB
	cfg    projector.Config
	conn   *faulty
	p      *projector.Projector
	oracle *oracle
	rnd    *rand.Rand

	seq, catalogSeq uint64
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := testserver.ClickHouse(t)
	if err := schema.Migrate(t.Context(), server.AdminDSN, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("clickhouse", server.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, server: server, db: db, cfg: projector.DefaultConfig(), oracle: newOracle(), rnd: rand.New(rand.NewPCG(1, 2))}
	w.cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	w.cfg.KeepScopes = 0
	w.restart()
	return w
}

// restart makes a new projector with a greater fence, as after a crash.
func (w *world) restart() {
	w.t.Helper()
	w.cfg.Fence++
	w.p, w.conn = w.projector(w.server.ProjectorDSN, w.cfg)
}

func (w *world) projector(dsn string, cfg projector.Config) (*projector.Projector, *faulty) {
	w.t.Helper()
	c, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	pool := clickhouse.Open(c, 3)
	w.t.Cleanup(func() { _ = pool.Close() })
	conn := &faulty{pool: pool}
	p, err := projector.New(cfg, conn)
	if err != nil {
		w.t.Fatal(err)
	}
	return p, conn
}

// observations makes the next batch of n events and tells the oracle.
func (w *world) observations(n int) *event.Batch {
	b := &event.Batch{Stream: event.StreamObservations, Epoch: epoch, First: w.seq + 1, Last: w.seq + uint64(n)}
	for range n {
		w.seq++
		e := randomEvent(w.rnd)
		b.Messages = append(b.Messages, event.Message{Seq: w.seq, Stored: time.Now(), Event: e})
	}
	w.oracle.observe(b)
	return b
}

// catalog makes the next batch of the records and tells the oracle.
func (w *world) catalog(records ...event.Payload) *event.Batch {
	b := &event.Batch{Stream: event.StreamCatalog, Epoch: epoch, First: w.catalogSeq + 1, Last: w.catalogSeq + uint64(len(records))}
	for _, r := range records {
		w.catalogSeq++
		b.Messages = append(b.Messages, event.Message{Seq: w.catalogSeq, Event: &event.Event{
			ID: uuid.NewString(), Kind: kindOf(r), ProducedAt: time.Now(), Data: r,
		}})
	}
	w.oracle.learn(b)
	return b
}

func kindOf(r event.Payload) event.Kind {
	switch r.(type) {
	case *contracts.Order:
		return event.KindOrder
	case *contracts.Mandate:
		return event.KindMandate
	case *contracts.Site:
		return event.KindSite
	case *contracts.Item:
		return event.KindItem
	case *contracts.Account:
		return event.KindAccount
	case *contracts.ReferencePrices:
		return event.KindReferencePrices
	case *contracts.CustomerData:
		return event.KindCustomerData
	case *contracts.FileJob:
		return event.KindImport
	case *contracts.FileArchive:
		return event.KindExportArchive
	}
	panic(fmt.Sprintf("no kind for %T", r))
}

// apply applies a batch and fails the test on an error.
func (w *world) apply(b *event.Batch) {
	w.t.Helper()
	if err := w.try(w.t.Context(), b); err != nil {
		w.t.Fatalf("apply %s %d-%d: %v", b.Stream, b.First, b.Last, err)
	}
}

func (w *world) try(ctx context.Context, b *event.Batch) error {
	if b.Stream == event.StreamCatalog {
		return w.p.ApplyCatalog(ctx, b)
	}
	return w.p.ApplyObservations(ctx, b)
}

// must applies a batch until it succeeds, as the loop does.
func (w *world) must(b *event.Batch) (failures int) {
	w.t.Helper()
	for failures = 0; ; failures++ {
		err := w.try(w.t.Context(), b)
		if err == nil {
			return failures
		}
		if failures > 200 {
			w.t.Fatalf("apply %s %d-%d: %v", b.Stream, b.First, b.Last, err)
		}
	}
}

// settle waits until nothing is left to delete.
func (w *world) settle() {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if err := w.p.Maintain(w.t.Context()); err != nil {
			w.t.Fatalf("maintain: %v", err)
		}
		if w.p.Stats().PendingDeletions == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("deletions do not end")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// verify compares every table with the oracle.
func (w *world) verify() {
	w.t.Helper()
	w.settle()
	if is, err := w.p.Prove(w.t.Context()); err != nil || len(is.Findings) > 0 {
		w.t.Errorf("the tables compared with their proof: %v, %v", is.Findings, err)
	}
	want := w.oracle
	diff(w.t, "observations", want.rows(), w.tableRows("observations", 0))
	diff(w.t, "observations_by_mandate", want.mandateRows(), w.tableRows("observations_by_mandate", 1))
	diff(w.t, "latest_observations", want.latest(), w.latestRows())
	diff(w.t, "ingested_events", want.ingested(), w.ingestedRows())
	diff(w.t, "scope_pairs", want.scopes(), w.scopeRows())
	for m := range want.scopes() {
		var force, applied uint64
		w.scan("SELECT max(version) FROM scopes WHERE mandate = ?", []any{m}, &force)
		w.scan("SELECT max(version) FROM scopes_applied WHERE mandate = ?", []any{m}, &applied)
		if force != applied {
			w.t.Errorf("mandate %d: version %d in force, %d applied", m, force, applied)
		}
	}
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		if len(d) > 3000 {
			d = d[:3000] + "..."
		}
		t.Errorf("%s differ (-want +got):\n%s", what, d)
	}
}

func (w *world) scan(q string, args []any, to ...any) {
	w.t.Helper()
	if err := w.db.QueryRow(q, args...).Scan(to...); err != nil {
		w.t.Fatalf("%s: %v", q, err)
	}
}

// key knows a row; mandate is 0 outside observations_by_mandate.
type key struct {
	Mandate        uint64
	Epoch          uint32
	Seq            uint64
	Capture, Offer uint16
}

type row struct {
	Item                               uint64
	Site                               string
	At                                 int64
	Outcome                            string
	Currency                           string
	Price, Shipping                    int64
	Merchant                           string
	Prime, BuyBox, Rating              uint8
	Manufacturer, Title, URL, Delivery string
	Copies                             int // 1, else it is doubled
}

const rowColumns = `item, site, toUnixTimestamp64Milli(captured_at), toString(outcome), currency, price_minor, shipping_minor, merchant,
	is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text`

func (r *row) fields() []any {
	return []any{
		&r.Item, &r.Site, &r.At, &r.Outcome, &r.Currency, &r.Price, &r.Shipping, &r.Merchant, &r.Prime, &r.BuyBox, &r.Rating,
		&r.Manufacturer, &r.Title, &r.URL, &r.Delivery,
	}
}

func (w *world) each(q string, scan func(*sql.Rows) error) {
	w.t.Helper()
	rows, err := w.db.Query(q)
	if err != nil {
		w.t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tableRows(table string, mandates int) map[key]row {
	w.t.Helper()
	m := "toUInt64(0)"
	if mandates > 0 {
		m = "mandate"
	}
	out := map[key]row{}
	w.each("SELECT "+m+", epoch, seq, capture, offer, "+rowColumns+" FROM "+table, func(rows *sql.Rows) error {
		var k key
		var r row
		err := rows.Scan(append([]any{&k.Mandate, &k.Epoch, &k.Seq, &k.Capture, &k.Offer}, r.fields()...)...)
		r.Copies = out[k].Copies + 1
		out[k] = r
		return err
	})
	return out
}

func (w *world) latestRows() map[key]row {
	w.t.Helper()
	out := map[key]row{}
	w.each(`SELECT toUInt64(0), epoch, seq, capture, offer, `+rowColumns+` FROM latest_observations FINAL
		ARRAY JOIN offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text`,
		func(rows *sql.Rows) error {
			var k key
			var r row
			err := rows.Scan(append([]any{&k.Mandate, &k.Epoch, &k.Seq, &k.Capture, &k.Offer}, r.fields()...)...)
			r.Copies = out[k].Copies + 1
			out[k] = r
			return err
		})
	return out
}

type ingested struct {
	Seq      uint64
	Captures uint16
	Rows     uint32
	Copies   int
}

func (w *world) ingestedRows() map[string]ingested {
	out := map[string]ingested{}
	w.each("SELECT toString(event_id), seq, captures, rows FROM ingested_events", func(rows *sql.Rows) error {
		var id string
		var e ingested
		err := rows.Scan(&id, &e.Seq, &e.Captures, &e.Rows)
		e.Copies = out[id].Copies + 1
		out[id] = e
		return err
	})
	return out
}

type mandatePair struct {
	Item uint64
	Site string
}

func (w *world) scopeRows() map[uint64]map[mandatePair][]uint64 {
	out := map[uint64]map[mandatePair][]uint64{}
	w.each("SELECT mandate, pairs FROM scopes FINAL", func(rows *sql.Rows) error {
		var m, n uint64
		err := rows.Scan(&m, &n)
		out[m] = map[mandatePair][]uint64{}
		return err
	})
	w.each(`SELECT mandate, item, site, orders FROM scope_pairs WHERE (mandate, version) IN (SELECT mandate, max(version) FROM scopes GROUP BY mandate)`,
		func(rows *sql.Rows) error {
			var m uint64
			var k mandatePair
			var orders []uint64
			if err := rows.Scan(&m, &k.Item, &k.Site, &orders); err != nil {
				return err
			}
			if _, ok := out[m][k]; ok {
				return fmt.Errorf("pair %v of mandate %d is doubled", k, m)
			}
			out[m][k] = orders
			return nil
		})
	maps.DeleteFunc(out, func(_ uint64, s map[mandatePair][]uint64) bool { return len(s) == 0 })
	return out
}

// oracle is what the tables must hold, made the plain way.
type oracle struct {
	events   map[string]event.Message // by id: the first in the stream
	epochs   map[string]uint32        // of events
	orders   map[[2]uint64]*contracts.Order
	packages map[uint64]int
}

func newOracle() *oracle {
	return &oracle{events: map[string]event.Message{}, epochs: map[string]uint32{}, orders: map[[2]uint64]*contracts.Order{}, packages: map[uint64]int{}}
}

func (o *oracle) observe(b *event.Batch) {
	for _, m := range b.Messages {
		id := m.Event.ID
		if old, ok := o.events[id]; !ok || cmp.Or(cmp.Compare(b.Epoch, o.epochs[id]), cmp.Compare(m.Seq, old.Seq)) < 0 {
			o.events[id], o.epochs[id] = m, b.Epoch
		}
	}
}

func (o *oracle) learn(b *event.Batch) {
	for _, m := range b.Messages {
		switch d := m.Event.Data.(type) {
		case *contracts.Order:
			o.orders[[2]uint64{uint64(d.MandateID), uint64(d.OrderID)}] = d
		case *contracts.Mandate:
			o.packages[uint64(d.MandateID)] = d.Package.MaxItems
		}
	}
}

func (o *oracle) rows() map[key]row {
	out := map[key]row{}
	for id, m := range o.events {
		b := m.Event.Data.(*contracts.Observations)
		for c, obs := range b.Observations {
			offers := obs.Offers
			if len(offers) == 0 {
				offers = []contracts.Offer{{}}
			}
			for i, of := range offers {
				r := row{
					Item: uint64(obs.ItemID), Site: string(b.Site), At: obs.CapturedAt.UnixMilli(), Outcome: obs.Outcome.String(),
					Currency: string(of.CurrencyCode), Price: -1, Shipping: -1, Merchant: of.Merchant, Prime: uint8(of.IsPrime),
					BuyBox: uint8(of.IsBuyBox), Rating: of.Rating.Tenths(), Manufacturer: of.Manufacturer, Title: of.Title,
					URL: of.URL, Delivery: of.DeliveryText, Copies: 1,
				}
				if of.Price != nil {
					r.Price = *of.Price
				}
				if of.Shipping != nil {
					r.Shipping = *of.Shipping
				}
				out[key{0, o.epochs[id], m.Seq, uint16(c), uint16(i)}] = r
			}
		}
	}
	return out
}

func (o *oracle) scopes() map[uint64]map[mandatePair][]uint64 {
	out := map[uint64]map[mandatePair][]uint64{}
	for m, maximum := range o.packages {
		var list []*contracts.Order
		for k, ord := range o.orders {
			if k[0] == m && ord.Active {
				list = append(list, ord)
			}
		}
		slices.SortFunc(list, func(a, b *contracts.Order) int {
			return cmp.Or(cmp.Compare(a.CreatedAt.UnixMilli(), b.CreatedAt.UnixMilli()), cmp.Compare(a.OrderID, b.OrderID))
		})
		var kept []contracts.ItemID
		for _, ord := range list {
			for _, item := range ord.Items {
				if !slices.Contains(kept, item) && len(kept) < maximum {
					kept = append(kept, item)
				}
			}
		}
		scope := map[mandatePair][]uint64{}
		for _, ord := range list {
			for _, item := range ord.Items {
				for _, site := range ord.Sites {
					k := mandatePair{uint64(item), string(site)}
					if slices.Contains(kept, item) && !slices.Contains(scope[k], uint64(ord.OrderID)) {
						scope[k] = append(scope[k], uint64(ord.OrderID))
						slices.Sort(scope[k])
					}
				}
			}
		}
		if len(scope) > 0 {
			out[m] = scope
		}
	}
	return out
}

func (o *oracle) mandateRows() map[key]row {
	out := map[key]row{}
	scopes := o.scopes()
	for k, r := range o.rows() {
		for m, s := range scopes {
			if _, ok := s[mandatePair{r.Item, r.Site}]; ok {
				k.Mandate = m
				out[k] = r
			}
		}
	}
	return out
}

func (o *oracle) latest() map[key]row {
	type capture struct {
		at  int64
		key key
	}
	newest := map[mandatePair]capture{}
	rows := o.rows()
	for k, r := range rows {
		c := capture{r.At, key{0, k.Epoch, k.Seq, k.Capture, 0}}
		old, ok := newest[mandatePair{r.Item, r.Site}]
		if !ok || cmp.Or(cmp.Compare(c.at, old.at), cmp.Compare(c.key.Epoch, old.key.Epoch), cmp.Compare(c.key.Seq, old.key.Seq), cmp.Compare(c.key.Capture, old.key.Capture)) > 0 {
			newest[mandatePair{r.Item, r.Site}] = c
		}
	}
	out := map[key]row{}
	for k, r := range rows {
		c := newest[mandatePair{r.Item, r.Site}].key
		if c.Epoch == k.Epoch && c.Seq == k.Seq && c.Capture == k.Capture {
			out[k] = r
		}
	}
	return out
}

func (o *oracle) ingested() map[string]ingested {
	out := map[string]ingested{}
	for id, m := range o.events {
		b := m.Event.Data.(*contracts.Observations)
		e := ingested{Seq: m.Seq, Captures: uint16(len(b.Observations)), Copies: 1}
		for _, obs := range b.Observations {
			e.Rows += uint32(obs.Rows())
		}
		out[id] = e
	}
	return out
}

// The small world that events and orders are drawn from.
const (
	worldItems = 12
	worldSites = 4
)

func siteKey(i int) contracts.SiteKey { return contracts.SiteKey(fmt.Sprintf("shop-%d.example", i)) }

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func randomEvent(r *rand.Rand) *event.Event {
	b := &contracts.Observations{Site: siteKey(r.IntN(worldSites))}
	for range 1 + r.IntN(5) {
		o := contracts.Observation{
			ItemID: contracts.ItemID(1 + r.IntN(worldItems)), CapturedAt: start.Add(time.Duration(r.IntN(100_000_000)) * time.Microsecond),
			Outcome: contracts.PriceObserved,
		}
		switch n := r.IntN(4); n {
		case 0:
			o.Outcome = contracts.ProductNotFound
		default:
			for i := range n {
				price := r.Int64N(100_000)
				of := contracts.Offer{
					Merchant: fmt.Sprint("merchant ", r.IntN(6)), Price: &price, CurrencyCode: "EUR", IsPrime: contracts.Flag(r.IntN(3)),
					IsBuyBox: contracts.FlagOf(i == 0), Rating: contracts.Rating([]string{"", "4.5", "bad", "3"}[r.IntN(4)]),
					Title: fmt.Sprintf("Título\t'%d'\\N\n", r.IntN(9)), URL: "https://shop.example/" + fmt.Sprint(r.IntN(1000)),
				}
				if r.IntN(2) == 0 {
					ship := int64(r.IntN(900))
					of.Shipping = &ship
				}
				o.Offers = append(o.Offers, of)
			}
		}
		b.Observations = append(b.Observations, o)
	}
	return &event.Event{ID: newID(r), Kind: event.KindObservations, ProducedAt: start.Add(time.Hour), Data: b}
}

func newID(r *rand.Rand) string {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id.String()
}

func mandate(id uint64, maxItems int) *contracts.Mandate {
	return &contracts.Mandate{MandateID: contracts.MandateID(id), Name: fmt.Sprint("mandate ", id), Package: contracts.Package{Name: "p", MaxItems: maxItems}}
}

func order(mandate, id uint64, active bool, created int, items []int, sites []int) *contracts.Order {
	o := &contracts.Order{
		OrderID: contracts.OrderID(id), MandateID: contracts.MandateID(mandate), Name: fmt.Sprint("order ", id), Active: active,
		CreatedAt: start.Add(time.Duration(created) * time.Hour),
	}
	for _, i := range items {
		o.Items = append(o.Items, contracts.ItemID(i))
	}
	for _, s := range sites {
		o.Sites = append(o.Sites, siteKey(s))
	}
	return o
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// eachRow hands over the rows of a question as texts and numbers.
func (w *world) eachRow(q string, columns int, f func([]any)) {
	w.t.Helper()
	w.each(q, func(rows *sql.Rows) error {
		v := make([]any, columns)
		to := make([]any, columns)
		for i := range v {
			to[i] = &v[i]
		}
		err := rows.Scan(to...)
		f(v)
		return err
	})
}

// made is the incarnation of a stream that lost nothing since it was made.
func made(epoch uint32) event.Incarnation { return event.Incarnation{Epoch: epoch, Created: epoch} }
