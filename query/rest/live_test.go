package rest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/query/store"
)

// live is a REST surface over a real ClickHouse whose tables a test fills with
// SQL, so that it is judged independently of the projector.
type live struct {
	*surface
	db   *testserver.ClickHouseServer
	conn driver.Conn
	now  time.Time // when the tables were created, in whole seconds

	settings []func(*settings)
	queued   []string
}

// liveDB creates the tables of a live surface.
func liveDB(t testing.TB) *live {
	t.Helper()
	l := &live{db: migrated.ClickHouse(t), now: time.Now().UTC().Truncate(time.Second)}
	opt := must.Get(clickhouse.ParseDSN(l.db.AdminDSN))(t)
	l.conn = must.Get(clickhouse.Open(opt))(t)
	t.Cleanup(func() { l.conn.Close() })
	return l
}

// serveLive starts a surface; change may set limits.
func serveLive(t testing.TB, change ...func(*settings)) *live {
	t.Helper()
	l := liveDB(t)
	l.settings = change
	l.surface = l.node(t, l.db.QueryDSN, change...)
	return l
}

// of returns the world for another test: a separate surface, at the time when
// the tables were created.
func (l *live) of(t testing.TB) *live {
	t.Helper()
	again := &live{db: l.db, conn: l.conn, now: l.now, settings: l.settings}
	again.surface = l.node(t, l.db.QueryDSN, l.settings...)
	again.clock.freeze(l.now)
	return again
}

// node starts another surface over the same tables.
func (l *live) node(t testing.TB, dsn string, change ...func(*settings)) *surface {
	t.Helper()
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(dsn)
	st := must.Get(store.New(cfg))(t)
	t.Cleanup(func() { st.Close() })
	return serve(t, append([]func(*settings){func(set *settings) {
		if l.surface != nil {
			set.key = l.key
		}
		set.store = st
		set.query.SoftDeadline, set.query.HardBudget = 2*time.Minute, 4*time.Minute // a busy machine must not fail the test
		set.throttle.Reads.Requests = 1_000_000
	}}, change...)...)
}

func (l *live) exec(sql string, args ...any) {
	l.t.Helper()
	if err := l.conn.Exec(context.Background(), sql, args...); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

// liveEpoch and liveMark are the watermark of every live surface.
const (
	liveEpoch = 1_700_000_000
	liveMark  = 1 << 40
)

func (l *live) mark() {
	l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), uint64(liveMark))
}

// announced raises the checkpoints of the catalogue and of what is in force, as
// projectors do after a change of either: nodes remember nothing before they are
// first raised, and from then on notice only changes that are announced.
func (l *live) announced() {
	l.t.Helper()
	for _, stream := range []string{"CATALOG", "IN_FORCE"} {
		l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES (?, 0, ?, ?)", stream, uint32(liveEpoch), uint64(time.Now().UnixNano()))
	}
}

// account creates an account that may read everything in its mandate's orders
// and sites, or in the given ones.
func (l *live) account(id contracts.AccountID, mandate uint64, orders, sites string) {
	l.exec(fmt.Sprintf(`INSERT INTO accounts VALUES (%d, %d, 'u%d', 'h', false, false, ['sites','items','orders','results','files'], %t, %s, %t, %s, 1)`,
		id, mandate, id, orders == "", or(orders, "[]"), sites == "", or(sites, "[]")))
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// scope puts a version of a mandate's scope in force: pairs selects item, site
// and orders.
func (l *live) scope(mandate, version uint64, pairs string) {
	l.exec(fmt.Sprintf("INSERT INTO scope_pairs SELECT %d, %d, item, site, orders FROM (%s)", mandate, version, pairs))
	l.exec(fmt.Sprintf("INSERT INTO scopes SELECT %d, %d, count(), uniqExact(item) FROM scope_pairs WHERE mandate = %d AND version = %d", mandate, version, mandate, version))
	l.exec("INSERT INTO scopes_applied VALUES (?, 0, ?)", mandate, version)
}

// observe writes rows to every table that holds them: rows selects the columns
// of observations for one mandate.
func (l *live) observe(mandate uint64, rows string) {
	const columns = "item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text"
	l.exec("INSERT INTO observations (" + columns + ") SELECT " + columns + " FROM (" + rows + ")")
	l.exec(fmt.Sprintf(`INSERT INTO observations_by_mandate (mandate, captured_desc, %s) SELECT %d, -toUnixTimestamp64Milli(captured_at), %s FROM (%s)`,
		strings.Replace(columns, "captured_at, ", "", 1), mandate, strings.Replace(columns, "captured_at, ", "", 1), rows))
	l.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT item, site, captured_at, epoch, seq, capture, any(outcome), groupArray(offer), groupArray(currency), groupArray(price_minor),
			groupArray(shipping_minor), groupArray(merchant), groupArray(is_prime), groupArray(is_buy_box), groupArray(rating_tenths),
			groupArray(manufacturer), groupArray(title), groupArray(url), groupArray(delivery_text)
		FROM (SELECT * FROM (` + rows + `) ORDER BY item, site, captured_at, epoch, seq, capture, offer)
		GROUP BY item, site, captured_at, epoch, seq, capture`)
}

// row returns SQL for rows with the columns of observations, one for each row
// of from; set has the values of columns that differ from the usual ones.
func (l *live) row(from string, set map[string]string) string {
	usual := []struct{ column, value string }{
		{"item", "toUInt64(1)"},
		{"site", "'shop.example'"},
		{"captured_at", l.at(-time.Hour)},
		{"epoch", fmt.Sprintf("toUInt32(%d)", liveEpoch)},
		{"seq", "toUInt64(1)"},
		{"capture", "toUInt16(0)"},
		{"offer", "toUInt16(0)"},
		{"outcome", "'priceObserved'"},
		{"currency", "'EUR'"},
		{"price_minor", "toInt64(1299)"},
		{"shipping_minor", "toInt64(-1)"},
		{"merchant", "'Merchant'"},
		{"is_prime", "toUInt8(0)"},
		{"is_buy_box", "toUInt8(0)"},
		{"rating_tenths", "toUInt8(255)"},
		{"manufacturer", "'Observed maker'"},
		{"title", "''"},
		{"url", "''"},
		{"delivery_text", "''"},
	}
	var columns []string
	for _, u := range usual {
		columns = append(columns, or(set[u.column], u.value)+" AS "+u.column)
		delete(set, u.column)
	}
	if len(set) > 0 {
		l.t.Fatalf("no such columns: %v", set)
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + from
}

// at returns SQL for an instant relative to now.
func (l *live) at(after time.Duration) string {
	return fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", l.now.Add(after).UnixMilli())
}

// freeze stops a clock at an instant.
func (c *clock) freeze(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = at
}

// nowhere is an account that may read nothing.
const nowhere contracts.AccountID = 5

// allow adds an account with only the given permissions.
func (m *memory) allow(account contracts.AccountID, areas ...contracts.Permission) {
	a := *m.accounts[reader]
	a.Account, a.Permissions = account, areas
	m.accounts[account] = &a
}

// plain reads an answer without checking it against the contract: it has too
// many rows for that.
func (s *surface) plain(path, token string) answer {
	s.t.Helper()
	r := s.request("GET", path, token, nil)
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	s.t.Cleanup(cancel)
	a := must.Get(caller.Read(s.raw().Do(r.WithContext(ctx))))(s.t)
	return answer{a.Response, a.Text}
}

// statements returns what the reads of this surface since an instant cost: how
// many statements touched observations, and how many rows all of them read.
func (l *live) statements(since time.Time) (onRows, readRows uint64) {
	l.t.Helper()
	until := time.Now()
	l.exec("SYSTEM FLUSH LOGS")
	return l.logged(since, until)
}

// logged is statements for what is already in the log.
func (l *live) logged(since, until time.Time) (onRows, readRows uint64) {
	l.t.Helper()
	must.Do(l.t, l.conn.QueryRow(context.Background(), `
		SELECT countIf(arrayExists(t -> t LIKE '%observations%', tables)), sum(read_rows) FROM system.query_log
		WHERE current_database = ? AND type != 'QueryStart' AND user LIKE '%query%'
			AND query_start_time_microseconds >= fromUnixTimestamp64Micro(?) AND query_start_time_microseconds <= fromUnixTimestamp64Micro(?)`,
		l.db.Database, since.UnixMicro(), until.UnixMicro()).Scan(&onRows, &readRows))
	return onRows, readRows
}
