package projector_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
	"preismon/projector/rebuild"
)

// quarters are the starts of quarters; captures are drawn around them.
var quarters = []time.Time{
	time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
}

// aroundQuarters returns observations with captures in all quarters, many of
// them in the first or the last millisecond of one.
func (w *world) aroundQuarters(n int) *event.Batch {
	b := w.observations(n)
	for _, m := range b.Messages {
		list := m.Event.Data.(*contracts.Observations).Observations
		for i := range list {
			at := quarters[w.rnd.IntN(len(quarters))]
			switch w.rnd.IntN(3) {
			case 0:
			case 1:
				at = at.Add(-time.Millisecond)
			default:
				at = at.Add(time.Duration(w.rnd.Int64N(int64(30 * 24 * time.Hour))).Truncate(time.Millisecond))
			}
			list[i].CapturedAt = at
		}
	}
	return b
}

// expire raises the floor to the quarter of a time, and retries until that
// succeeds.
func (w *world) expire(at time.Time) {
	w.t.Helper()
	for try := 0; ; try++ {
		err := w.p.Expire(w.t.Context(), at)
		if err == nil {
			break
		}
		if try > 20 {
			w.t.Fatal(err)
		}
	}
	w.oracle.floor = w.floor()
}

// floor returns the floor in the tables, in Unix ms; 0: none.
func (w *world) floor() int64 {
	w.t.Helper()
	at := must.Get(projector.FloorOf(w.t.Context(), w.conn, w.cfg.Partition))(w.t)
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

func (w *world) clean(k *kept) {
	w.t.Helper()
	if a := w.audit(k, true); len(a.Findings) > 0 || !a.Proven {
		w.t.Errorf("proven %v, found %q", a.Proven, found(a))
	}
}

// TestFloor raises the floor between batches with captures on both sides of it,
// exactly at it and one millisecond before. Proofs and audits with content find
// nothing at any moment, late captures are not written, grants backfill what is
// kept, and exactly the rows below the floor are removed.
func TestFloor(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	w.slice = 250                // several slices
	w.cfg.KeepScopes = time.Hour // nothing is removed yet
	w.restart()
	w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1}))))
	w.apply(k.keep(w.aroundQuarters(50)))
	w.clean(k)
	w.expire(quarters[1].Add(40 * 24 * time.Hour)) // in the second quarter
	if got := w.floor(); got != quarters[1].UnixMilli() {
		t.Fatalf("floor %s", time.UnixMilli(got).UTC())
	}
	w.clean(k)
	count := func(table, where string) (n uint64) {
		t.Helper()
		w.scan("SELECT count() FROM "+table+" WHERE "+where, nil, &n)
		return n
	}
	below := fmt.Sprintf("captured_at < fromUnixTimestamp64Milli(%d)", quarters[1].UnixMilli())
	if count("observations", below) == 0 {
		t.Error("rows were removed while readers may need them")
	}
	was := count("observations", below)
	w.apply(k.keep(w.aroundQuarters(30))) // many of them late
	if got := count("observations", below); got != was || w.p.Stats().ExpiredRows == 0 {
		t.Errorf("%d rows below the floor, and %d before; %d counted", got, was, w.p.Stats().ExpiredRows)
	}
	w.clean(k)
	w.apply(k.keep(w.catalog(order(1, 11, true, 1, []int{7, 8, 9}, []int{0, 1, 2}), mandate(2, 10), order(2, 20, true, 0, []int{1, 7}, []int{1, 2}))))
	w.settle()
	w.restart()
	w.apply(k.keep(w.aroundQuarters(10)))
	w.clean(k)

	w.cfg.KeepScopes = 0
	w.restart()
	w.verify() // removes, and compares the tables with what must be kept
	w.clean(k)
	for _, table := range []string{"observations", "observations_by_mandate"} {
		if n := count(table, below); n > 0 {
			t.Errorf("%s has %d rows below the floor", table, n)
		}
	}
	var id uuid.UUID
	var rows, gone uint64
	w.scan("SELECT event_id, e.rows, x.rows FROM ingested_events AS e JOIN (SELECT epoch, seq, sum(rows) AS rows FROM expired_rows FINAL WHERE quarter < '2026-04-01' GROUP BY epoch, seq) AS x USING (epoch, seq) ORDER BY x.rows < e.rows DESC LIMIT 1", nil, &id, &rows, &gone)
	if at, err := projector.FindEvent(t.Context(), w.conn, id); err != nil || at == nil || uint64(at.Rows) != rows || at.Expired != gone || gone == 0 {
		t.Errorf("of an event of %d rows %d are below the floor: %+v, %v", rows, gone, at, err)
	}
	w.expire(quarters[3].Add(-time.Millisecond)) // the instant before a quarter belongs to the quarter before
	if got := w.floor(); got != quarters[2].UnixMilli() {
		t.Fatalf("floor %s", time.UnixMilli(got).UTC())
	}
	w.expire(quarters[0]) // it never falls
	if got := w.floor(); got != quarters[2].UnixMilli() {
		t.Fatalf("floor %s", time.UnixMilli(got).UTC())
	}
	w.apply(k.keep(w.aroundQuarters(10)))
	w.verify()
	w.clean(k)
	w.exec("DELETE FROM observations WHERE seq IN (SELECT seq FROM observations LIMIT 1)") // missing rows are found as before
	if a := w.audit(k, false); len(a.Findings) == 0 {
		t.Error("a lost row is not found")
	}
}

// TestFloorAfterFailures makes each statement of a rise fail, before and after
// it took effect, and continues with the same or with another leader: wherever
// the rise stops, the floor and the proof are both the old or both the new
// ones.
func TestFloorAfterFailures(t *testing.T) {
	for i, what := range []string{"expired_rows", "checkpoint_times", "checkpoints", "drop"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(t), newKept(t)
			w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4}, []int{0, 1}))))
			w.apply(k.keep(w.aroundQuarters(20)))
			w.restart()
			for n, at := range quarters {
				after, again := n%2 > 0, n/2 > 0
				if (i+n%2+n/2)%effort.Often(2, 1) > 0 {
					continue
				}
				w.apply(k.keep(w.aroundQuarters(10)))
				if what == "checkpoint_times" {
					time.Sleep(time.Second) // so that the next checkpoint's time is kept
				}
				w.conn.failOnce(what, after)
				err := w.p.Expire(t.Context(), at)
				if what == "drop" {
					err = errors.Join(err, w.p.Maintain(t.Context()))
				}
				if !errors.Is(err, errInjected) {
					t.Fatalf("done %v: no failure: %v", after, err)
				}
				w.oracle.floor = w.floor()
				if is, err := w.p.Prove(t.Context()); err != nil || len(is.Findings) > 0 {
					t.Errorf("done %v: %q, %v", after, kinds(is.Findings), err)
				}
				if again {
					w.restart()
				}
				w.apply(k.keep(w.aroundQuarters(10)))
				if got := w.floor(); got != w.oracle.floor {
					t.Errorf("done %v, another leader %v: the floor was %d and is %d", after, again, w.oracle.floor, got)
				}
				w.expire(at) // a wrong proof would refuse this
				equals.Is(t, at.UnixMilli(), w.floor(), "floor")
			}
			w.apply(k.keep(w.aroundQuarters(10)))
			w.verify()
			w.clean(k)
		})
	}
}

// TestFloorWaitsForTheTail: the floor does not rise while a failed batch has
// left rows beyond the checkpoint, but does after the batch is complete.
func TestFloorWaitsForTheTail(t *testing.T) {
	for _, tables := range [][]string{{"observations", "observations_by_mandate"}, {"latest_observations", "ingested_events", "checkpoints"}} {
		t.Run(tables[0], func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(t), newKept(t)
			w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4}, []int{0, 1}))))
			w.apply(k.keep(w.aroundQuarters(20)))
			for n, table := range tables {
				b := k.keep(w.aroundQuarters(15))
				w.conn.failOnce(table, false)
				if err := w.try(t.Context(), b); !errors.Is(err, errInjected) {
					t.Fatalf("%s: no failure: %v", table, err)
				}
				for range 2 {
					must.Do(t, w.p.Expire(t.Context(), quarters[1+n]))
					if got := w.floor(); got != w.oracle.floor {
						t.Fatalf("%s: floor %d over an uncertain tail", table, got)
					}
					w.restart()
				}
				w.must(b)
				w.expire(quarters[1+n])
				if got := w.floor(); got != quarters[1+n].UnixMilli() {
					t.Fatalf("%s: floor %d over a tail that is complete", table, got)
				}
				w.apply(b) // again, as a stream delivers it
			}
			w.verify()
			w.clean(k)
		})
	}
}

// TestFloorRepairs cuts off a batch while a floor is in force: its rows below
// the floor are neither looked for nor written.
func TestFloorRepairs(t *testing.T) {
	for seed := range uint64(effort.Often(3, 6)) { // each table at least once
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(t), newKept(t)
			w.rnd = rand.New(rand.NewPCG(seed, 5))
			w.cfg.MaxBlockRows = 40
			w.restart()
			w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2}))))
			w.apply(k.keep(w.aroundQuarters(20)))
			w.expire(quarters[2])
			b := k.keep(w.aroundQuarters(20))
			w.conn.failNth(rowTable(seed), int(seed/3), seed%2 == 0)
			_ = w.try(t.Context(), b)
			w.restart()
			w.must(b)
			w.verify()
			w.clean(k)
		})
	}
}

func rowTable(n uint64) string {
	return []string{"observations", "observations_by_mandate", "expired_rows"}[n%3]
}

// TestFloorNeedsProof: the floor does not rise while rows are missing or
// doubled, so that they can still be found; after they are repaired it does.
func TestFloorNeedsProof(t *testing.T) {
	for what, change := range map[string][2]string{
		"lost":    {"DELETE FROM observations WHERE seq = 2 AND captured_at < '2026-07-01'", "INSERT INTO observations SELECT * FROM saved WHERE seq = 2 AND captured_at < '2026-07-01'"},
		"doubled": {"INSERT INTO observations SELECT * FROM saved WHERE seq = 2 AND captured_at < '2026-07-01'", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(t), newKept(t)
			w.apply(k.keep(w.aroundQuarters(20)))
			w.exec("CREATE TABLE saved ENGINE = Memory AS SELECT * FROM observations")
			w.exec(change[0])
			for range 2 {
				for range 2 { // the second time the projector remembers it
					if err := w.p.Expire(t.Context(), quarters[2]); !errors.Is(err, projector.ErrNotAsProven) || w.floor() != 0 {
						t.Fatalf("floor %d over rows that are %s: %v", w.floor(), what, err)
					}
				}
				w.restart()
			}
			if change[1] == "" {
				w.exec("TRUNCATE TABLE observations")
				change[1] = "INSERT INTO observations SELECT * FROM saved"
			}
			w.exec(change[1])
			w.expire(quarters[2])
			w.verify()
			w.clean(k)
		})
	}
}

// TestFloorNeedsQuarters: tables that are not partitioned by quarter are
// refused with an error that names the remedy, and stay unchanged.
func TestFloorNeedsQuarters(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	for _, table := range []string{"observations", "observations_by_mandate"} {
		var create string
		w.scan("SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = ?", []any{table}, &create)
		before, rest, ok := strings.Cut(create, " PARTITION BY ")
		_, after, cut := strings.Cut(rest, " PRIMARY KEY ")
		if !ok || !cut {
			t.Fatal(create)
		}
		w.exec("DROP TABLE " + table + " SYNC")
		w.exec(before + " PRIMARY KEY " + after)
	}
	w.apply(k.keep(w.aroundQuarters(10)))
	if err := w.p.Expire(t.Context(), quarters[2]); !errors.Is(err, projector.ErrNotByQuarter) || !strings.Contains(err.Error(), "preismon rebuild") {
		t.Errorf("refused with %v", err)
	}
	w.verify()
	w.clean(k)
}

// TestFloorOfRebuilds: rebuilt tables begin at the floor of the old ones, which
// may rise meanwhile, and after an exchange that stops between any two tables
// an audit finds nothing.
func TestFloorOfRebuilds(t *testing.T) {
	effort.Full(t, "a rebuild that stands still at each table")
	for _, exchanged := range []int{2, 4, len(rebuild.Tables)} {
		t.Run(fmt.Sprint(exchanged), func(t *testing.T) {
			w, k := newWorld(t), newKept(t)
			admin, newDSN := w.newTables()
			batches := []*event.Batch{
				k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1}))), k.keep(w.aroundQuarters(30)), k.keep(w.aroundQuarters(10)),
			}
			for _, b := range batches[:2] {
				w.apply(b)
			}
			w.expire(quarters[1])
			w.apply(batches[2])
			w.settle()
			must.Do(t, rebuild.KeepFloor(t.Context(), admin, w.server.Database))
			old, oldConn, cfg := w.p, w.conn, w.cfg
			cfg.Fence = 1
			w.p, w.conn = w.projector(newDSN, cfg)
			for _, b := range batches {
				w.apply(b)
			}
			w.settle()
			w.clean(k)
			if got := w.floor(); got != quarters[1].UnixMilli() {
				t.Fatalf("the new tables begin at %d", got)
			}
			fresh, freshConn := w.p, w.conn
			w.p, w.conn = old, oldConn
			w.expire(quarters[2])
			if ok, reason, err := rebuild.Ready(t.Context(), admin, w.server.Database, keepsAll); err != nil || ok || !strings.Contains(reason, "another time") {
				t.Errorf("ready %v: %s, %v", ok, reason, err)
			}
			w.p, w.conn = fresh, freshConn
			w.expire(quarters[2])
			w.clean(k)
			w.p, w.conn = old, oldConn
			if ok, reason, err := rebuild.Ready(t.Context(), admin, w.server.Database, keepsAll); err != nil || !ok {
				t.Errorf("ready %v: %s, %v", ok, reason, err)
			}
			err := rebuild.Exchange(t.Context(), &stoppingConn{admin, exchanged}, w.server.Database, rebuild.Tables, w.cfg.Fence)
			if want := exchanged <= len(rebuild.Tables); errors.Is(err, errStopped) != want || !want && err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.apply(k.keep(w.aroundQuarters(10)))
			w.settle()
			w.clean(k)
			w.verify()
		})
	}
}
