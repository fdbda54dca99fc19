package rest_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"preismon/contracts"
	"preismon/deploy/testserver/migrated"
	"preismon/query/store"
)

// noon is the time of the requests to an estate.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// estate is a surface over a real ClickHouse, whose tables a test fills as the
// projector would.
type estate struct {
	*surface
	conn  driver.Conn
	store *store.Store
}

func newEstate(t testing.TB) *estate {
	t.Helper()
	db := migrated.ClickHouse(t)
	opt, err := clickhouse.ParseDSN(db.AdminDSN)
	must(t, err)
	conn, err := clickhouse.Open(opt)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(db.QueryDSN)
	st, err := store.New(cfg)
	must(t, err)
	t.Cleanup(func() { st.Close() })
	return (&estate{conn: conn, store: st}).of(t)
}

// of returns the estate for another test: a separate surface over the same
// tables.
func (e *estate) of(t testing.TB) *estate {
	t.Helper()
	e = &estate{conn: e.conn, store: e.store}
	e.surface = serve(t, func(set *settings) {
		set.store = e.store
		set.throttle.Reads.Requests = 100_000
	})
	e.clock.advance(time.Until(noon))
	return e
}

func (e *estate) exec(sql string, args ...any) {
	e.t.Helper()
	if err := e.conn.Exec(context.Background(), sql, args...); err != nil {
		e.t.Fatalf("%s: %v", sql, err)
	}
}

// account creates an account of a mandate; empty lists stand for all.
func (e *estate) account(id contracts.AccountID, mandate int, orders, sites string) {
	e.t.Helper()
	e.exec(fmt.Sprintf("INSERT INTO accounts VALUES (%d, %d, 'u%d', 'h', false, false, ['sites','items','orders','results','files'], %t, [%s], %t, [%s], 1)",
		id, mandate, id, orders == "", orders, sites == "", sites))
}

// order creates an order; the scope says which pairs an active one has.
func (e *estate) order(mandate, id int, active bool) {
	e.t.Helper()
	e.exec(fmt.Sprintf("INSERT INTO orders (mandate, order_id, name, active, created_at, interval_minutes, version) VALUES (%d, %d, 'Order %d', %t, '2026-11-01 00:00:00', 60, 1)", mandate, id, id, active))
}

// scope puts the pairs of a query (item, site, orders) in force.
func (e *estate) scope(mandate int, pairs string) {
	e.t.Helper()
	e.exec(fmt.Sprintf("INSERT INTO scope_pairs SELECT %d, 7, toUInt64(item), site, arrayMap(o -> toUInt64(o), orders) FROM (%s)", mandate, pairs))
	e.exec(fmt.Sprintf("INSERT INTO scopes VALUES (%d, 7, 0, 0)", mandate))
	e.exec(fmt.Sprintf("INSERT INTO scopes_applied VALUES (%d, 0, 7)", mandate))
}

// captured writes the newest capture of a pair.
func (e *estate) captured(item int, site, outcome string, at time.Time) {
	e.t.Helper()
	e.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		VALUES (?, ?, fromUnixTimestamp64Milli(?), 1, ?, 0, ?, [0], [''], [-1], [-1], [''], [0], [0], [255], [''], [''], [''], [''])`,
		uint64(item), site, at.UnixMilli(), uint64(at.Unix()), outcome)
}

// read returns a page for an account.
func (e *estate) read(account contracts.AccountID, path string) page {
	e.t.Helper()
	a := e.get(path, e.token(account))
	if a.StatusCode != 200 {
		e.t.Fatalf("%s: %d %s", path, a.StatusCode, a.body)
	}
	p := decode[page](e.t, a)
	if p.Paging.Returned != len(p.Data) || len(p.Data) > p.Paging.Limit {
		e.t.Errorf("%s: %d records, %+v", path, len(p.Data), p.Paging)
	}
	return p
}

// walk follows the cursors of a list to its end and returns all records.
func (e *estate) walk(account contracts.AccountID, path string) (all []map[string]any) {
	e.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	for next := path; ; {
		p := e.read(account, next)
		all = append(all, p.Data...)
		if p.Paging.NextCursor == "" {
			return all
		}
		next = path + join + "cursor=" + url.QueryEscape(p.Paging.NextCursor)
	}
}
