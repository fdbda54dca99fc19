package main

import (
	"database/sql"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// memoryLimit is the maximum memory that a projector may ever have used.
const memoryLimit = 512 << 20

// TestProjectorMemory loads a projector with the maximum of everything that is
// permitted, and reads from the kernel how much memory its process used at its
// peak.
func TestProjectorMemory(t *testing.T) {
	effort.Full(t, "the memory of a projector with five million pairs, a repair for a hundred mandates, and the greatest events")
	for name, of := range map[string]func(*memoryTest){
		"an order of five million pairs":  (*memoryTest).largeOrder,
		"a repair for a hundred mandates": (*memoryTest).largeRepair,
		"events of the greatest size":     (*memoryTest).largeEvents,
		"orders of the greatest size":     (*memoryTest).manyOrders,
		"events of empty offers":          (*memoryTest).emptyOffers,
	} {
		t.Run(name, func(t *testing.T) {
			m := &memoryTest{T: t, ch: migrated.ClickHouse(t), nats: testserver.NATS(t)}
			m.db = database(t, m.ch.AdminDSN)
			of(m)
		})
	}
}

type memoryTest struct {
	*testing.T
	ch   *testserver.ClickHouseServer
	nats string
	db   *sql.DB
}

// project runs a projector until it has applied everything that was published.
func (m *memoryTest) project(flags ...string) *role {
	m.Helper()
	args := []string{"projector", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.ProjectorDSN, "--admin-listen", "127.0.0.1:0"}
	r := startRole(m.T, append(args, flags...)...)
	must.Eventually(m.T, 5*time.Minute, "it reads both streams", func() bool { return strings.Count(r.Written(), "stream open") >= 2 })
	waitApplied(m.T, m.nats)
	settle(m.T, m.db)
	return r
}

// stop stops it, and logs its peak memory.
func (m *memoryTest) stop(r *role, what string) {
	m.Helper()
	text := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID())))(m.T)
	var kib int64
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			must.Get(fmt.Sscan(rest, &kib))(m)
		}
	}
	m.Logf("%s: %d MiB", what, kib>>10)
	if kib == 0 || kib<<10 > memoryLimit {
		m.Errorf("%s took %d MiB, at most %d are promised", what, kib>>10, memoryLimit>>20)
	}
	r.terminate()
}

// publish puts records, or observations, into the streams.
func (m *memoryTest) publish(all iter.Seq[event.Payload]) {
	m.Helper()
	b := must.Get(connect(ingest.Config{URL: m.nats, Name: m.Name()}))(m.T)
	defer b.conn.Close()
	must.Do(m.T, ingest.EnsureStreams(m.Context(), b.js, ingest.StreamConfig{}))
	p := must.Get(ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, nil))(m.T)
	defer p.Close()
	for data := range all {
		e := &event.Event{ID: uuid.NewString(), ProducedAt: time.Now(), Data: data}
		switch data.(type) {
		case *contracts.Mandate:
			e.Kind = event.KindMandate
		case *contracts.Order:
			e.Kind = event.KindOrder
		case *contracts.Observations:
			e.Kind = event.KindObservations
		}
		must.Do(m.T, p.Publish(m.Context(), e))
	}
	must.Get(p.Flush(m.Context()))(m)
}

func each(all ...event.Payload) iter.Seq[event.Payload] {
	return func(yield func(event.Payload) bool) {
		for _, p := range all {
			if !yield(p) {
				return
			}
		}
	}
}

func memoryMandate(id int) *contracts.Mandate {
	return &contracts.Mandate{MandateID: contracts.MandateID(id), Name: fmt.Sprint("mandate ", id), Package: contracts.Package{Name: "all", MaxItems: 1_000_000}}
}

func memoryOrder(mandate, id, items, sites int) *contracts.Order {
	o := &contracts.Order{
		OrderID: contracts.OrderID(id), MandateID: contracts.MandateID(mandate), Name: fmt.Sprint("order ", id), Active: true,
		CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for i := range items {
		o.Items = append(o.Items, contracts.ItemID(1_000_000+i))
	}
	for i := range sites {
		o.Sites = append(o.Sites, memorySite(i))
	}
	return o
}

func memorySite(i int) contracts.SiteKey { return contracts.SiteKey(fmt.Sprintf("shop-%d.example", i)) }

// largeOrder: the largest order permitted by default, also at the next start of
// a projector and after a change.
func (m *memoryTest) largeOrder() {
	m.publish(each(memoryMandate(1), memoryOrder(1, 1, 50_000, 100)))
	m.stop(m.project(), "the order")
	m.stop(m.project(), "the next start")
	equals.Is(m, 5_000_000, number(m.T, m.db, "SELECT pairs FROM scopes FINAL"), "pairs in force")
	changed := memoryOrder(1, 1, 50_000, 100)
	changed.Items, changed.Sites[0] = changed.Items[:49_000], "another.example"
	m.publish(each(changed))
	m.stop(m.project(), "the changed order")
	equals.Is(m, 4_900_000, number(m.T, m.db, "SELECT count() FROM scope_pairs WHERE version = (SELECT max(version) FROM scopes)"), "pairs in force")
}

// largeRepair: a hundred mandates see all of 40,000 rows, and for all of these
// it is uncertain whether they were written.
func (m *memoryTest) largeRepair() {
	const mandates, items, sites, rounds = 100, 500, 10, 8
	m.publish(func(yield func(event.Payload) bool) {
		for i := range mandates {
			if !yield(memoryMandate(i+1)) || !yield(memoryOrder(i+1, i+1, items, sites)) {
				return
			}
		}
		at := time.Now().Add(-time.Hour)
		for round := range rounds {
			for site := range sites {
				b := &contracts.Observations{Site: memorySite(site)}
				for item := range items {
					b.Observations = append(b.Observations, contracts.Observation{
						ItemID: contracts.ItemID(1_000_000 + item), CapturedAt: at.Add(time.Duration(round) * time.Second), Outcome: contracts.ProductNotFound,
					})
				}
				if !yield(b) {
					return
				}
			}
		}
	})
	m.stop(m.project(), "the backlog")
	const rows = rounds * sites * items
	for _, statement := range []string{
		"TRUNCATE TABLE checkpoints", "TRUNCATE TABLE ingested_events",
		"DELETE FROM observations_by_mandate WHERE mandate = 7 AND seq = 40 AND capture < 10",
		"DELETE FROM observations_by_mandate WHERE mandate > 90 AND seq > 60",
		"DELETE FROM observations WHERE seq > 76",
	} {
		must.Get(m.db.ExecContext(m.Context(), statement))(m)
	}
	r := m.project()
	if n := r.metric("preismon_projector_repairs_total"); n == "" || n == "0" {
		m.Errorf("%s repairs", n)
	}
	m.stop(r, "the repair")
	for table, want := range map[string]uint64{"observations": rows, "observations_by_mandate": mandates * rows} {
		equals.Is(m, want, number(m.T, m.db, "SELECT count() FROM "+table), "%s has rows", table)
	}
	noDoubles(m.T, m.db)
}

// largeEvents: a backlog of events of the maximum size.
func (m *memoryTest) largeEvents() {
	const items = 400
	title, address := strings.Repeat("t", 900), "https://shop.example/"+strings.Repeat("u", 1400)
	m.observe(300, items, func(o *contracts.Observation) {
		price := int64(1234)
		o.Outcome, o.Offers = contracts.PriceObserved, []contracts.Offer{{Price: &price, CurrencyCode: "EUR", Title: title, URL: address}}
	})
}

// emptyOffers: a backlog of events that are fifty times as large in memory as
// when published, each with more rows than a batch may have.
func (m *memoryTest) emptyOffers() {
	offers := make([]contracts.Offer, 500)
	m.observe(40, 490, func(o *contracts.Observation) { o.Outcome, o.Offers = contracts.Unavailable, offers })
}

func (m *memoryTest) observe(events, items int, fill func(*contracts.Observation)) {
	at := time.Now().Add(-time.Hour)
	m.publish(func(yield func(event.Payload) bool) {
		if !yield(memoryMandate(1)) || !yield(memoryOrder(1, 1, items, 1)) {
			return
		}
		for n := range events {
			b := &contracts.Observations{Site: memorySite(0)}
			for item := range items {
				o := contracts.Observation{ItemID: contracts.ItemID(1_000_000 + item), CapturedAt: at.Add(time.Duration(n) * time.Second)}
				fill(&o)
				b.Observations = append(b.Observations, o)
			}
			if !yield(b) {
				return
			}
		}
	})
	m.stop(m.project(), "the backlog")
	equals.Is(m, uint64(events), number(m.T, m.db, "SELECT uniqExact(seq) FROM observations_by_mandate"), "rows of events, want %d", events)
}

// manyOrders: a backlog of orders, each an event of the maximum size.
func (m *memoryTest) manyOrders() {
	const orders = 200
	m.publish(func(yield func(event.Payload) bool) {
		if !yield(memoryMandate(1)) {
			return
		}
		for i := range orders {
			if !yield(memoryOrder(1, i+1, 50_000, 10)) {
				return
			}
		}
	})
	m.stop(m.project(), "the orders")
	m.stop(m.project(), "the next start")
}
