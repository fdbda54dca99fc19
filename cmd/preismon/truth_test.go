package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the driver for counting
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// The truth about a folder is in its events: the market is a pure function, so
// what `up --demo` should have published is known without it.

// fact is what a row must contain, by the event and the position that it came
// from.
type fact struct {
	Event          string
	Capture, Offer uint16
	Item           uint64
	Site           string
	At             int64 // Unix ms
	Outcome        uint8
	Currency       string
	Price          int64 // -1: none
	Shipping       int64
	Merchant       string
}

// factsOf returns the rows of an event of observations, in order.
func factsOf(e *event.Event) (all []fact) {
	batch, ok := e.Data.(*contracts.Observations)
	if !ok {
		return nil
	}
	amount := func(v *int64) int64 {
		if v == nil {
			return -1
		}
		return *v
	}
	for i, o := range batch.Observations {
		offers := o.Offers
		if len(offers) == 0 {
			offers = []contracts.Offer{{}}
		}
		for j, offer := range offers {
			all = append(all, fact{
				e.ID, uint16(i), uint16(j), uint64(o.ItemID), string(batch.Site), o.CapturedAt.UnixMilli(), uint8(o.Outcome),
				string(offer.CurrencyCode), amount(offer.Price), amount(offer.Shipping), offer.Merchant,
			})
		}
	}
	return all
}

// demoOf reads the state of its market that a folder keeps.
func demoOf(t *testing.T, dir string) demoState {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, demoStateFile)))(t)
	var s demoState
	must.Do(t, json.Unmarshal(text, &s))
	return s
}

func marketOf(t *testing.T, s demoState) *market.Market {
	t.Helper()
	m := must.Get(market.New(market.Config{Seed: s.Seed, Scale: s.Scale, Now: time.Now(), Start: s.Start}))(t)
	return m
}

// database opens the tables of a DSN.
func database(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("clickhouse", dsn))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// tables opens those of a running up, as the administrator.
func (u *upProcess) tables() *sql.DB {
	u.t.Helper()
	r := must.Get(embedded.ReadRuntime(u.DataDir))(u.t)
	return database(u.t, r.AdminDSN)
}

// number queries for one number.
func number(t *testing.T, db *sql.DB, query string, args ...any) uint64 {
	t.Helper()
	var n uint64
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// stored reads every row with the event that it came from. A batch writes its
// rows before its events: rows without an event may be in the middle of being
// written, and are read again; rows of no published event stay.
func stored(t *testing.T, db *sql.DB) map[string][]fact {
	t.Helper()
	all := storedNow(t, db)
	for try := 0; try < 30 && all[uuid.Nil.String()] != nil; try++ {
		time.Sleep(100 * time.Millisecond)
		all = storedNow(t, db)
	}
	return all
}

func storedNow(t *testing.T, db *sql.DB) map[string][]fact {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), `
		SELECT toString(e.event_id), o.capture, o.offer, o.item, toString(o.site), toUnixTimestamp64Milli(o.captured_at),
		       toUInt8(o.outcome), toString(o.currency), o.price_minor, o.shipping_minor, toString(o.merchant)
		FROM observations AS o LEFT JOIN ingested_events AS e ON o.epoch = e.epoch AND o.seq = e.seq
		ORDER BY o.epoch, o.seq, o.capture, o.offer`))(t)
	defer rows.Close() //nolint:errcheck // read to its end
	all := map[string][]fact{}
	for rows.Next() {
		var f fact
		must.Do(t, rows.Scan(&f.Event, &f.Capture, &f.Offer, &f.Item, &f.Site, &f.At, &f.Outcome, &f.Currency, &f.Price, &f.Shipping, &f.Merchant))
		all[f.Event] = append(all[f.Event], f)
	}
	must.Do(t, rows.Err())
	return all
}

// noDoubles proves that no row is there twice, in any sense, and that the
// tables agree with each other.
func noDoubles(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, query := range []string{
		`SELECT count() - uniqExact(epoch, seq, capture, offer) FROM observations`,
		`SELECT count() - uniqExact(item, site, captured_at, offer) FROM observations`,
		`SELECT count() - uniqExact(event_id) FROM ingested_events`,
		`SELECT count() - uniqExact(mandate, epoch, seq, capture, offer) FROM observations_by_mandate`,
		`SELECT abs(toInt64(sum(rows)) - (SELECT toInt64(count()) FROM observations)) FROM ingested_events`,
		// What each mandate has equals what its scope in force covers, by
		// content.
		`WITH force AS (SELECT p.mandate AS mandate, p.item AS item, p.site AS site FROM scope_pairs AS p
		                INNER JOIN (SELECT mandate, version FROM scopes FINAL) AS s ON p.mandate = s.mandate AND p.version = s.version),
		      due AS (SELECT f.mandate AS mandate, cityHash64(o.item, o.site, toUnixTimestamp64Milli(o.captured_at), o.epoch, o.seq, o.capture, o.offer, o.price_minor) AS h
		              FROM observations AS o INNER JOIN force AS f ON o.item = f.item AND o.site = f.site),
		      have AS (SELECT mandate, cityHash64(item, site, toUnixTimestamp64Milli(captured_at), epoch, seq, capture, offer, price_minor) AS h FROM observations_by_mandate)
		 SELECT count() FROM (SELECT mandate, h, sum(n) AS n FROM (SELECT mandate, h, 1 AS n FROM due UNION ALL SELECT mandate, h, -1 AS n FROM have) GROUP BY mandate, h HAVING n != 0)`,
		// The newest capture of each pair is the newest of all.
		`SELECT count() FROM (SELECT item, site, max(captured_at) AS at FROM observations GROUP BY item, site) AS o
		 FULL JOIN (SELECT item, site, captured_at AS at FROM latest_observations FINAL) AS l ON o.item = l.item AND o.site = l.site AND o.at = l.at
		 WHERE o.item = 0 OR l.item = 0`,
	} {
		// A batch may be in the middle of being written, table by table: what
		// is really wrong stays wrong.
		n := int64(1)
		for try := 0; try < 30 && n != 0; try++ {
			if try > 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT toInt64(*) FROM ("+query+")").Scan(&n); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		if n != 0 {
			t.Errorf("%d rows too many, too few or wrong by\n%s", n, query)
		}
	}
}

// exact proves that the tables hold the rows of every event in must, no rows of
// events that are not in must or may, and each row once and complete.
func exact(t *testing.T, db *sql.DB, must, may iter.Seq[*event.Event]) (rows int) {
	t.Helper()
	have := stored(t, db)
	missing, wrong := 0, 0
	check := func(e *event.Event, needed bool) {
		got, ok := have[e.ID]
		delete(have, e.ID)
		rows += len(got)
		if !ok {
			if needed {
				if missing++; missing <= 3 {
					t.Errorf("the event of %s is missing: %d rows", e.ProducedAt, len(factsOf(e)))
				}
			}
			return
		}
		if want := factsOf(e); !slices.Equal(want, got) { // cmp takes much longer
			if wrong++; wrong <= 3 {
				t.Errorf("the rows of an event of %s are others (-want +got):\n%s", e.ProducedAt, cmp.Diff(want, got))
			}
		}
	}
	seen := map[string]bool{}
	for e := range must {
		seen[e.ID] = true
		check(e, true)
	}
	for e := range may {
		if !seen[e.ID] {
			seen[e.ID] = true
			check(e, false)
		}
	}
	for id, facts := range have {
		if wrong++; wrong <= 3 {
			t.Errorf("%d rows of the event %q, which nobody published, as %+v", len(facts), id, facts[0])
		}
	}
	if missing+wrong > 0 {
		t.Errorf("%d events missing, %d wrong or unknown", missing, wrong)
	}
	return rows
}

// span is a period in which `up --demo` was live without interruption.
type span struct{ from, to time.Time }

// exactDemo proves the same for the folder of `up --demo`: everything up to
// what the folder remembers having published is there, even while more arrives,
// including the live captures of the spans.
func exactDemo(t *testing.T, u *upProcess, live ...span) (rows int) {
	t.Helper()
	s := demoOf(t, u.DataDir)
	waitUntilApplied(t, u)
	m, db := marketOf(t, s), u.tables()
	settle(t, db)
	began, soon := s.Start.Add(demoDays), time.Now().Add(time.Minute)
	must := []iter.Seq[*event.Event]{m.Observations(s.Start, s.Published)}
	for _, l := range live {
		must = append(must, m.LiveCaptures(l.from, l.to))
	}
	rows = exact(t, db, chain(must...), chain(m.Observations(s.Published, soon), m.LiveCaptures(began, soon)))
	noDoubles(t, db)
	return rows
}

// chain yields the events of all, one after the other.
func chain(all ...iter.Seq[*event.Event]) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for _, events := range all {
			for e := range events {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// waitUntilApplied waits until the projector has applied everything that is in the
// streams.
func waitUntilApplied(t *testing.T, u *upProcess) {
	t.Helper()
	r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	waitApplied(t, r.NATSURL)
}

// settle is called before counting, because scopes may still be being applied.
func settle(t *testing.T, db *sql.DB) {
	t.Helper()
	must.Eventually(t, time.Minute, "every scope is in force and its lost rows are gone", func() bool {
		return number(t, db, `SELECT count() FROM (SELECT mandate, version FROM scopes FINAL) AS s
			LEFT JOIN (SELECT mandate, max(version) AS version FROM scopes_applied FINAL GROUP BY mandate) AS a ON s.mandate = a.mandate
			WHERE s.version != a.version`) == 0
	})
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	after := stat[slices.Index(stat, ')')+1:]
	return len(after) < 2 || after[1] != 'Z'
}

// catalog is the market's master data, as its events describe it.
type catalog struct {
	sites    map[contracts.SiteKey]*contracts.Site
	items    map[contracts.ItemID]*contracts.Item
	mandates map[contracts.MandateID]*contracts.Mandate
	accounts map[string]*contracts.Account
	orders   map[contracts.MandateID][]*contracts.Order
}

func catalogOf(m *market.Market) catalog {
	c := catalog{
		map[contracts.SiteKey]*contracts.Site{},
		map[contracts.ItemID]*contracts.Item{},
		map[contracts.MandateID]*contracts.Mandate{},
		map[string]*contracts.Account{},
		map[contracts.MandateID][]*contracts.Order{},
	}
	for e := range m.Catalog() {
		switch d := e.Data.(type) {
		case *contracts.Site:
			c.sites[d.Site] = d
		case *contracts.Item:
			c.items[d.ItemID] = d
		case *contracts.Mandate:
			c.mandates[d.MandateID] = d
		case *contracts.Account:
			c.accounts[d.LoginIdentifier] = d
		case *contracts.Order:
			c.orders[d.MandateID] = append(c.orders[d.MandateID], d)
		}
	}
	return c
}

// visible returns what a login may see: the pairs of its mandate's active
// orders, oldest first and within the package, as far as its own scope permits.
func (c catalog) visible(login string) map[contracts.Pair]bool {
	a := c.accounts[login]
	orders := slices.Clone(c.orders[a.MandateID])
	slices.SortFunc(orders, func(x, y *contracts.Order) int { return x.CreatedAt.Compare(y.CreatedAt) })
	booked := map[contracts.ItemID]bool{}
	for _, o := range orders {
		for _, item := range o.Items {
			if o.Active && len(booked) < c.mandates[a.MandateID].Package.MaxItems {
				booked[item] = true
			}
		}
	}
	pairs := map[contracts.Pair]bool{}
	for _, o := range orders {
		if !o.Active || !a.Scope.AllOrders && !slices.Contains(a.Scope.Orders, o.OrderID) {
			continue
		}
		for _, site := range o.Sites {
			if !a.Scope.AllSites && !slices.Contains(a.Scope.Sites, site) {
				continue
			}
			for _, item := range o.Items {
				if booked[item] {
					pairs[contracts.Pair{Item: item, Site: site}] = true
				}
			}
		}
	}
	return pairs
}
