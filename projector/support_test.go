package projector_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // reads back what ch-go wrote
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"
)

var _ ingest.Sink = (*projector.Projector)(nil)

const epoch = 1_700_000_000

// world is a database with a projector on it, and the oracle of what the tables
// must hold.
type world struct {
	t      testing.TB
	server *testserver.ClickHouseServer
	db     *sql.DB
	cfg    projector.Config
	conn   *faulty
	p      *projector.Projector
	oracle *oracle
	rnd    *rand.Rand
	slice  int // rows that an audit compares at once

	seq, catalogSeq uint64
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := migrated.ClickHouse(t)
	db := must.Get(sql.Open("clickhouse", server.AdminDSN))(t)
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, server: server, db: db, cfg: projector.DefaultConfig(), oracle: newOracle(), rnd: newRand(1), slice: 600}
	w.cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	w.cfg.KeepScopes = 0
	w.restart()
	return w
}

// restart creates a new projector with a higher fence, as after a crash.
func (w *world) restart() {
	w.t.Helper()
	w.cfg.Fence++
	w.p, w.conn = w.projector(w.server.ProjectorDSN, w.cfg)
}

func (w *world) projector(dsn string, cfg projector.Config) (*projector.Projector, *faulty) {
	w.t.Helper()
	c := must.Get(clickhouse.ParseDSN(dsn))(w.t)
	pool := clickhouse.Open(c, 3)
	w.t.Cleanup(func() { _ = pool.Close() })
	conn := &faulty{pool: pool}
	p := must.Get(projector.New(cfg, conn))(w.t)
	return p, conn
}

// observations creates the next batch of n events and adds it to the oracle.
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

// catalog creates the next batch of the records and adds it to the oracle.
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

// settle waits until nothing is left to delete, and no grant waits for a deletion.
func (w *world) settle() {
	w.t.Helper()
	for deadline, wait := time.Now().Add(30*time.Second), 5*time.Millisecond; ; wait = min(2*wait, 80*time.Millisecond) {
		if err := w.p.Maintain(w.t.Context()); err != nil {
			w.t.Fatalf("maintain: %v", err)
		}
		if s := w.p.Stats(); s.PendingDeletions == 0 && s.WaitingGrants == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("deletions, or grants that wait for them, do not end")
		}
		time.Sleep(wait)
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
	if w.t.Failed() {
		w.logDoubled()
	}
	latest := w.latestRows()
	maps.DeleteFunc(latest, func(_ key, r row) bool { return r.At < want.floor }) // it stays, but is not read
	diff(w.t, "latest_observations", want.latest(), latest)
	diff(w.t, "ingested_events", want.ingested(), w.ingestedRows())
	diff(w.t, "scope_pairs", want.scopes(), w.scopeRows())
	for m := range want.scopes() {
		var force, applied uint64
		w.scan("SELECT max(version), (SELECT max(version) FROM scopes_applied WHERE mandate = ?) FROM scopes WHERE mandate = ?", []any{m, m}, &force, &applied)
		if force != applied {
			w.t.Errorf("mandate %d: version %d in force, %d applied", m, force, applied)
		}
	}
}

// logDoubled logs which parts hold the rows that are in a table more than once,
// and what was done to the table: what doubles a row leaves no other trace.
func (w *world) logDoubled() {
	w.t.Helper()
	for table, key := range map[string]string{
		"observations":            "epoch, seq, capture, offer",
		"observations_by_mandate": "mandate, epoch, seq, capture, offer",
	} {
		doubled := 0
		w.eachRow("SELECT toString(tuple("+key+")), toString(groupArray(tuple(_part, _part_offset))) FROM "+table+" GROUP BY "+key+" HAVING count() > 1 ORDER BY "+key, 2, func(v []any) {
			w.t.Logf("%s has %v in parts %v", table, v[0], v[1])
			doubled++
		})
		if doubled == 0 {
			continue
		}
		w.eachRow("SELECT concat(name, ', ', toString(rows), ' rows, active ', toString(active), ', ', toString(modification_time)) FROM system.parts WHERE database = currentDatabase() AND table = '"+table+"' ORDER BY min_block_number", 1, func(v []any) { w.t.Log(v[0]) })
		w.eachRow("SELECT concat(mutation_id, ': ', command, ', ', toString(create_time), ', done ', toString(is_done)) FROM system.mutations WHERE database = currentDatabase() AND table = '"+table+"'", 1, func(v []any) { w.t.Log(v[0]) })
	}
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // this is faster
		return
	}
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

// eachRow passes each row of a query to f, as texts and numbers.
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

// made returns the incarnation of a stream that has lost nothing since it was
// created.
func made(epoch uint32) event.Incarnation { return event.Incarnation{Epoch: epoch, Created: epoch} }
