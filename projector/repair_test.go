package projector_test

import (
	"errors"
	"strings"
	"testing"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// TestRepair deletes rows beyond the checkpoint: some rows of some mandates, all
// of others, none of the rest. It also changes what a mandate sees. The next
// projector completes the rows of the first batch, and the one after it those of
// the second, with fewer keys in memory than the batch has.
func TestRepair(t *testing.T) {
	w := newWorld(t)
	items, sites := []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1, 2}
	var records []event.Payload
	for m := range uint64(6) {
		records = append(records, mandate(m+1, 100), order(m+1, 10*(m+1), true, 0, items[m:], sites))
	}
	w.apply(w.catalog(records...))
	first, second := w.observations(40), w.observations(25)
	w.apply(first)
	w.apply(second)
	for _, statement := range []string{
		"DELETE FROM checkpoints WHERE stream = 'OBSERVATIONS'", "TRUNCATE TABLE ingested_events",
		"DELETE FROM observations_by_mandate WHERE mandate = 1 AND (seq + capture) % 3 = 0",
		"DELETE FROM observations_by_mandate WHERE mandate = 2 AND seq > 20",
		"DELETE FROM observations_by_mandate WHERE mandate IN (3, 4) AND seq % 30 BETWEEN 10 AND 12 AND offer = 0",
		"DELETE FROM observations WHERE seq BETWEEN 30 AND 50 AND capture = 1",
	} {
		w.exec(statement)
	}
	repaired := func() {
		t.Helper()
		if s := w.p.Stats(); s.Repairs != 1 || s.RepairedRows == 0 {
			t.Errorf("%d repairs wrote %d rows", s.Repairs, s.RepairedRows)
		}
	}
	w.restart()
	w.apply(w.catalog(order(5, 50, true, 0, items[:2], sites))) // its rows of other pairs do not count as foreign
	w.apply(first)
	repaired()
	w.cfg.MaxBlockRows = 60
	w.restart()
	w.apply(second)
	w.verify()
	repaired()
}

// TestRepairFindsForeignRows: rows of messages that the stream had here and
// lost are distinguished from missing rows, in each table.
func TestRepairFindsForeignRows(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1, 2})))
	b := w.observations(30)
	w.apply(b)
	held := func() (n int) {
		w.scan("SELECT (SELECT count() FROM observations) + (SELECT count() FROM observations_by_mandate)", nil, &n)
		return n
	}
	before := held()
	tables := []string{"observations", "observations_by_mandate", "ingested_events", "checkpoints"}
	back := w.save(tables...)
	for name, statement := range map[string]string{
		"observations":            "INSERT INTO observations SELECT * REPLACE (o.seq - 1 AS seq, captured_at + toIntervalDay(1) AS captured_at) FROM observations AS o WHERE o.seq = 20",
		"observations_by_mandate": "INSERT INTO observations_by_mandate SELECT * REPLACE (o.seq - 1 AS seq, captured_desc - 86400000 AS captured_desc) FROM observations_by_mandate AS o WHERE o.seq IN (SELECT max(seq) FROM observations_by_mandate)",
		"a place of no event":     "INSERT INTO observations SELECT * REPLACE (toUInt64(15) AS seq) FROM observations AS o WHERE o.seq = 20",
	} {
		for _, statement := range []string{"TRUNCATE TABLE checkpoints", "TRUNCATE TABLE ingested_events", statement} {
			w.exec(statement)
		}
		if held() == before {
			t.Fatalf("%s: no rows were added", name)
		}
		w.restart()
		lost := *b
		lost.Messages = nil
		for _, m := range b.Messages {
			if name != "a place of no event" || m.Seq != 15 {
				lost.Messages = append(lost.Messages, m)
			}
		}
		if err := w.try(t.Context(), &lost); !errors.Is(err, event.ErrForked) {
			t.Errorf("%s: %v", name, err)
		}
		back(tables...)
		if held() != before {
			t.Fatalf("%s: not as before", name)
		}
	}
}

// TestStartReadsNoPairs: a scope that matches its orders is recognized by its
// digest; one that does not is read and updated to match them.
func TestStartReadsNoPairs(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 5), order(1, 10, true, 0, []int{1, 2, 3, 4}, []int{0, 1}), order(1, 11, true, 1, []int{3, 4, 5, 6}, []int{1, 2})))
	w.apply(w.observations(20))
	w.settle()
	for _, c := range []struct {
		name    string
		changed bool
		reads   int
	}{{"the same", false, 0}, {"changed behind the published scope", true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			w.restart()
			reads := 0
			w.conn.onStatement = func(sql string) {
				if strings.Contains(sql, "FROM scope_pairs\nWHERE mandate = {mandate:UInt64} AND version = {version:UInt64}\nORDER BY") {
					reads++
				}
			}
			if c.changed { // as a crash leaves it: the record is in its table, the scope is not published
				w.exec("INSERT INTO orders SELECT * REPLACE ([1, 2] AS items, version + 1 AS version) FROM orders FINAL WHERE order_id = 10")
			}
			must.Do(t, w.p.Maintain(t.Context()))
			if reads != c.reads {
				t.Errorf("%d scopes were read, want %d", reads, c.reads)
			}
		})
	}
	var pairs int
	w.scan("SELECT pairs FROM scopes FINAL WHERE mandate = 1", nil, &pairs)
	if want := 2*2 + 3*2; pairs != want { // five items: 1, 2 and 3, 4, 5
		t.Errorf("%d pairs in force, want %d", pairs, want)
	}
}
