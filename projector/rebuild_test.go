package projector_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"

	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/rebuild"
	"preismon/projector/schema"
)

// stoppingConn fails every exchange after so many.
type stoppingConn struct {
	clickhouse.Conn
	left int
}

var errStopped = errors.New("stopped")

func (c *stoppingConn) Do(ctx context.Context, q ch.Query) error {
	if strings.HasPrefix(q.Body, "EXCHANGE") {
		if c.left--; c.left < 0 {
			return errStopped
		}
	}
	return c.Conn.Do(ctx, q)
}

// TestRebuildExchange: wherever an exchange stops, the next projector brings
// the tables to the right state, even if the new tables are ahead of the old
// ones.
func TestRebuildExchange(t *testing.T) {
	for _, exchanged := range []int{2, len(rebuild.Tables) + 1} {
		t.Run(fmt.Sprint(exchanged), func(t *testing.T) {
			w := newWorld(t)
			admin, newDSN := w.newTables()
			batches := []*event.Batch{
				w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1})),
				w.observations(20),
				w.catalog(mandate(2, 100), order(2, 20, true, 0, []int{1, 2}, []int{0, 1, 2}), order(1, 10, true, 1, []int{2, 3, 4}, []int{1})),
				w.observations(20),
			}
			ahead := w.observations(10)
			for _, b := range batches {
				w.apply(b)
			}
			w.settle()
			must.Do(t, rebuild.Check(t.Context(), admin, w.server.Database, event.StreamState{Incarnation: made(epoch), First: 1}, event.StreamState{Incarnation: made(epoch)}))
			ready := func(want bool) {
				t.Helper()
				if exchanged != 2 { // one case is enough
					return
				}
				w.settle()
				if ok, reason, err := rebuild.Ready(t.Context(), admin, w.server.Database, keepsAll); err != nil || ok != want || ok == (reason != "") {
					t.Errorf("ready %v, want %v: %s %v", ok, want, reason, err)
				}
			}
			ready(false) // the new database is empty
			old := w.p
			cfg := w.cfg
			cfg.Fence = 1
			w.p, _ = w.projector(newDSN, cfg)
			for i, b := range batches {
				w.apply(b)
				ready(i == len(batches)-1) // until the last batch it is behind, or has other scopes
			}
			w.apply(ahead) // beyond the old tables
			ready(true)
			granted := w.catalog(order(2, 21, true, 3, []int{5}, []int{0}))
			w.apply(granted)
			ready(false) // the new tables have rows of a pair that is not in force
			w.p = old
			w.apply(granted)
			w.settle()
			ready(true)

			err := rebuild.Exchange(t.Context(), &stoppingConn{admin, exchanged}, w.server.Database, rebuild.Tables, w.cfg.Fence)
			if want := exchanged <= len(rebuild.Tables); errors.Is(err, errStopped) != want || !want && err != nil {
				t.Fatal(err)
			}
			w.restart()
			if seq, err := w.p.Resume(t.Context(), event.StreamObservations, made(epoch)); err != nil || seq != 40 {
				t.Errorf("it resumes at %d: %v", seq, err)
			}
			w.apply(ahead)
			w.apply(w.observations(5))
			w.verify()
		})
	}
}

// actingConn acts once, before or after the exchange of a table.
type actingConn struct {
	clickhouse.Conn
	table string
	after bool
	act   func()
}

func (c *actingConn) Do(ctx context.Context, q ch.Query) error {
	if c.act == nil || !strings.HasPrefix(q.Body, "EXCHANGE") || !strings.HasSuffix(q.Body, "."+c.table) {
		return c.Conn.Do(ctx, q)
	}
	act := c.act
	c.act = nil
	if c.after {
		defer act()
	} else {
		act()
	}
	return c.Conn.Do(ctx, q)
}

// TestRebuildOvertaken: a process that was frozen before or during its exchange
// detects that another leads, and takes the exchange back; what the other wrote
// is there. A leader that began after the exchange is no reason to take it
// back.
func TestRebuildOvertaken(t *testing.T) {
	effort.Full(t, "rebuilds that are overtaken")
	for _, c := range []struct {
		name      string
		table     string
		after     bool
		applies   bool
		overtaken bool
	}{
		{"before the first table", rebuild.Tables[0], false, true, true},
		{"before the last table", "leader_fences", false, false, true}, // what it wrote then would be missing
		{"after the exchange", "leader_fences", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			admin, besideDSN := w.newTables()
			batches := []*event.Batch{w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1})), w.observations(20)}
			later := w.observations(5)
			cfg := w.cfg
			cfg.Fence = 1
			added, _ := w.projector(besideDSN, cfg)
			for _, p := range []*projector.Projector{w.p, added} {
				for _, b := range batches {
					must.Do(t, w.on(p, func() error { return w.try(t.Context(), b) }))
				}
			}
			w.settle()
			fence := w.cfg.Fence
			was := w.tableID("observations")
			lead := func() {
				w.restart()
				must.Get(w.p.Resume(t.Context(), event.StreamObservations, made(epoch)))(t)
				if c.applies {
					w.apply(later)
				}
			}
			err := rebuild.Exchange(t.Context(), &actingConn{admin, c.table, c.after, lead}, w.server.Database, rebuild.Tables, fence)
			if errors.Is(err, rebuild.ErrOvertaken) != c.overtaken || !c.overtaken && err != nil {
				t.Fatalf("overtaken %v: %v", c.overtaken, err)
			}
			if c.overtaken && !strings.Contains(err.Error(), "the tables were exchanged back and nothing was dropped") {
				t.Error(err)
			}
			if back := w.tableID("observations") == was; back != c.overtaken {
				t.Errorf("the old table is in place: %v", back)
			}
			w.apply(later)
			w.apply(w.observations(5))
			w.verify()
			w.restart() // a newer fence is in the tables that are in place
			must.Get(w.p.Resume(t.Context(), event.StreamObservations, made(epoch)))(t)
			if err := rebuild.Exchange(t.Context(), admin, w.server.Database, rebuild.Tables, fence); !errors.Is(err, rebuild.ErrOvertaken) {
				t.Errorf("by a leader that is deposed: %v", err)
			}
		})
	}
}

// on runs f with p as the projector of the world.
func (w *world) on(p *projector.Projector, f func() error) error {
	was := w.p
	w.p = p
	defer func() { w.p = was }()
	return f()
}

func (w *world) tableID(table string) (id string) {
	w.t.Helper()
	w.scan("SELECT toString(uuid) FROM system.tables WHERE database = ? AND name = ?", []any{w.server.Database, table}, &id)
	return id
}

// TestRebuildCheck refuses streams from which the tables could not be rebuilt
// with the same positions. Only those events are needed that still have rows.
func TestRebuildCheck(t *testing.T) {
	w := newWorld(t)
	admin, _ := w.admin("", "")
	w.apply(w.catalog(mandate(1, 100)))
	w.apply(w.observations(3))
	right := event.StreamState{Stream: event.StreamObservations, Incarnation: made(epoch), First: 1, Last: 3}
	catalog := event.StreamState{Stream: event.StreamCatalog, Incarnation: made(epoch), First: 1, Last: 1}
	change := func(s event.StreamState, f func(*event.StreamState)) event.StreamState { f(&s); return s }
	check := func(what string, observations, catalog event.StreamState, words string) {
		t.Helper()
		err := rebuild.Check(t.Context(), admin, w.server.Database, observations, catalog)
		if words == "" && err != nil || words != "" && (!errors.Is(err, rebuild.ErrNotWhole) || !strings.Contains(err.Error(), words)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, c := range map[string]struct {
		observations, catalog event.StreamState
		words                 string
	}{
		"all there":           {right, catalog, ""},
		"aged":                {change(right, func(s *event.StreamState) { s.First = 3 }), catalog, "2 events"},
		"recreated":           {change(right, func(s *event.StreamState) { s.Epoch++ }), catalog, "3 events"},
		"tail lost":           {change(right, func(s *event.StreamState) { s.Forks = []event.Fork{{Epoch: epoch, After: 2}} }), catalog, "lost its tail"},
		"catalogue recreated": {right, change(catalog, func(s *event.StreamState) { s.Epoch++ }), "1 records"},
	} {
		check(what, c.observations, c.catalog, c.words)
	}
	w.expire(start.AddDate(0, 2, 0)) // to January, after all captures
	check("no row is kept", change(right, func(s *event.StreamState) { s.First = 4 }), catalog, "")
}

// TestRebuildOfDropped: new tables do not replace those that have what the
// stream dropped while the new ones were filled.
func TestRebuildOfDropped(t *testing.T) {
	w := newWorld(t)
	admin, dsn := w.newTables()
	records, events := w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1})), w.observations(10)
	w.apply(records)
	w.apply(events)
	w.settle()
	fresh, _ := w.projector(dsn, w.cfg)
	read := *events
	read.Messages = events.Messages[2:]
	must.Do(t, w.on(fresh, func() error {
		w.apply(records)
		w.apply(&read)
		w.settle()
		return nil
	}))
	ready := func(first uint64) error {
		t.Helper()
		ok, reason, err := rebuild.Ready(t.Context(), admin, w.server.Database, event.StreamState{Stream: event.StreamObservations, Incarnation: made(epoch), First: first, Last: 10})
		if ok != (err == nil) || reason != "" {
			t.Fatalf("ready %v: %s, %v", ok, reason, err)
		}
		return err
	}
	equals.NoError(t, ready(1), "nothing is dropped")
	if err := ready(3); !errors.Is(err, rebuild.ErrNotWhole) || !strings.Contains(err.Error(), "2 events") {
		t.Errorf("two events dropped that the new tables lack: %v", err)
	}
	must.Do(t, w.on(fresh, func() error {
		w.expire(start.AddDate(0, 2, 0)) // to January, after all captures
		return nil
	}))
	w.expire(start.AddDate(0, 2, 0))
	equals.NoError(t, ready(3), "none of their rows is kept")
}

// keepsAll is a stream of observations that has dropped nothing.
var keepsAll = event.StreamState{Stream: event.StreamObservations, Incarnation: made(epoch), First: 1}

// newTables makes the new tables of a rebuild, and returns an administrator's
// connection to the old ones and the projector's DSN of the new ones.
func (w *world) newTables() (admin *clickhouse.Pool, dsn string) {
	w.t.Helper()
	added := rebuild.NewDatabase(w.server.Database)
	admin, _ = w.admin("", "")
	_, addedDSN := w.admin(added, "")
	_, dsn = w.admin(added, w.server.ProjectorDSN)
	must.Do(w.t, schema.Migrate(w.t.Context(), addedDSN, schema.Options{}))
	w.t.Cleanup(func() { _ = rebuild.Drop(context.Background(), admin, w.server.Database) })
	return admin, dsn
}

// admin opens a database of the server by a DSN, and also returns the DSN.
// Empty arguments: the world's own database, the administrator's DSN.
func (w *world) admin(database, dsn string) (*clickhouse.Pool, string) {
	w.t.Helper()
	if dsn == "" {
		dsn = w.server.AdminDSN
	}
	u := must.Get(url.Parse(dsn))(w.t)
	if database != "" {
		u.Path = "/" + database
	}
	c := must.Get(clickhouse.ParseDSN(u.String()))(w.t)
	pool := clickhouse.Open(c, 1)
	w.t.Cleanup(func() { _ = pool.Close() })
	return pool, u.String()
}
