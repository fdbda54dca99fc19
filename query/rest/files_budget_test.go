package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// documents writes archive documents in one statement, each with the given
// number of files; their ids continue after the previous ones.
func (w *filesWorld) documents(d query.Direction, order contracts.OrderID, n, files int) {
	w.t.Helper()
	w.exec(`INSERT INTO file_archives SELECT ?, ?, ?, ? + number, 11, toDateTime64('2026-03-01 05:00:00', 3, 'UTC') + number,
			arrayMap(i -> ('file ' || toString(? + number) || '/' || toString(i), 'f.csv', toInt64(1), repeat('a', 64)), range(?)), 1
		FROM numbers(?)`, uint64(mandateOf(order)), string(d), uint64(order), uint64(w.next+1), uint64(w.next+1), files, n)
	w.next += contracts.ArchiveID(n)
}

// HIST-01a, HIST-01b, HIST-02, HIST-03, EXP-03b, ERR-14, LIM-07, OPEN-16,
// choices 31, 40: the whole history of an order counts, whatever part of it is
// requested.
func TestHistoryBudgets(t *testing.T) {
	w := newFilesWorld(t)
	order := contracts.OrderID(300)
	const exports, imports = query.Exports, query.Imports
	for name, c := range map[string]struct {
		d     query.Direction
		fill  func()
		extra func() // one more than allowed
	}{
		"documents": {
			imports,
			func() { w.documents(imports, order, 1_000, 2) },
			func() { w.documents(imports, order, 1, 1) },
		},
		"documents without files": {
			exports,
			func() { w.documents(exports, order, 1, 1); w.documents(exports, order, 999, 0) },
			func() { w.documents(exports, order, 1, 0) },
		},
		"files of many documents": {
			imports,
			func() { w.documents(imports, order, 1_000, 10) },
			func() { // the last document has one more file
				w.exec("INSERT INTO file_archives SELECT * REPLACE (arrayConcat(files, [files[1]]) AS files, 2 AS version) FROM file_archives WHERE direction = ? AND order_id = ? ORDER BY archive DESC LIMIT 1", string(imports), uint64(order))
			},
		},
		"files of one document": {
			exports,
			func() { w.documents(exports, order, 1, 10_000) },
			func() { w.documents(exports, order, 1, 1) },
		},
	} {
		order++
		w.order(1, order)
		t.Run(name, func(t *testing.T) {
			first := w.next + 1
			c.fill()
			one := fmt.Sprintf("file %d/0", first)
			history := string(c.d) + "s/history"
			if p := w.list(order, history, "name", one, "limit", "1"); len(p.Data) != 1 {
				t.Errorf("%+v", p)
			}
			if p := w.list(order, history, "limit", "1000"); len(p.Data) == 0 {
				t.Error("nothing")
			}
			cursor := w.list(order, history, "limit", "1").Paging.NextCursor
			for _, newest := range []string{"/latest", "/download"} { // none of its files is in an archive
				if a := w.get(path(order, history+newest, "name", one, "latest", "true"), w.token(reader)); a.StatusCode != 200 && a.StatusCode != 409 {
					t.Errorf("%s: %d %s", newest, a.StatusCode, a.body)
				}
			}
			c.extra()
			for _, args := range [][]string{
				{""},
				{"", "limit", "1", "name", one},
				{"", "dateTo", "2020-01-01"},
				{"/latest"},
				{"/latest", "name", one},
				{"/latest", "dateTo", "2020-01-01"},
				{"/download"},
				{"/download", "latest", "true"},
				{"/download", "name", one},
			} {
				p := w.get(path(order, history+args[0], args[1:]...), w.token(reader)).wantProblem(t, 400, "HISTORY_SCOPE_TOO_BROAD")
				if !strings.Contains(p.Detail, "1000") || !strings.Contains(p.Detail, "10000") {
					t.Error(p.Detail)
				}
			}
			if cursor != "" {
				w.get(path(order, history, "cursor", cursor), w.token(reader)).wantProblem(t, 400, "HISTORY_SCOPE_TOO_BROAD")
			}
		})
	}
	// Other orders, and the lists of exports themselves, are not affected.
	for _, route := range []string{"exports", "imports"} {
		w.list(order, route)
		w.list(orderA, route+"/history")
	}
}

// EXP-01b, ERR-16, LIM-06, choices 40: exports are examined one after another
// until the page is complete.
func TestExportCandidates(t *testing.T) {
	const order, all = contracts.OrderID(400), 10_000
	w := newFilesWorld(t)
	w.order(1, order)
	jobs := func(from, n int) {
		w.exec("INSERT INTO file_jobs SELECT 1, 'export', ?, number, multiIf(number % 10 = 0, 'tenth', number = 10001, 'last', 'e' || toString(number)), now64(3), 1 FROM numbers(?, ?)",
			uint64(order), from, n)
		w.exec("INSERT INTO file_jobs SELECT 1, 'import', ?, number, 'i' || toString(number), now64(3), 1 FROM numbers(?, ?)", uint64(order), from, n)
	}
	named := func(name string, more ...string) answer {
		return w.get(path(order, "exports", append([]string{"exportName", name}, more...)...), w.token(reader))
	}
	jobs(1, all)
	for name, n := range map[string]int{"nobody": 0, "e1": 1, "e9999": 1} {
		a := named(name)
		if p := decode[page](t, a); a.StatusCode != 200 || len(p.Data) != n || p.Paging.NextCursor != "" {
			t.Errorf("%s among 10,000: %d %s", name, a.StatusCode, a.body)
		}
	}
	jobs(all+1, 1)
	for _, name := range []string{"nobody", "e1", "e9999", "last"} { // the page may go on behind the last one examined
		p := named(name).wantProblem(t, 400, "ORDER_SCOPE_TOO_BROAD")
		if !strings.Contains(p.Detail, "10000") {
			t.Error(p.Detail)
		}
	}
	named("tenth", "limit", "1000").wantMore(t, 1000)
	named("tenth", "limit", "999").wantMore(t, 999)
	a := named("e9999", "limit", "1") // complete, before candidate 10,001
	a.wantMore(t, 1)
	next := named("e9999", "limit", "1", "cursor", decode[page](t, a).Paging.NextCursor)
	if p := decode[page](t, next); next.StatusCode != 200 || len(p.Data) != 0 || p.Paging.NextCursor != "" {
		t.Errorf("%d %s", next.StatusCode, next.body)
	}
	jobs(all+2, 1) // those examined for one page are not examined again for the next
	a = named("e1", "limit", "1")
	a.wantMore(t, 1)
	next = named("e1", "limit", "1", "cursor", decode[page](t, a).Paging.NextCursor)
	if p := decode[page](t, next); next.StatusCode != 200 || len(p.Data) != 0 || p.Paging.NextCursor != "" {
		t.Errorf("%d %s", next.StatusCode, next.body)
	}
	if got := w.walk("exportName", order, "exports", "exportName", "tenth", "limit", "300"); len(got) != all/10 {
		t.Errorf("%d of that name", len(got))
	}
	if got := w.walk("exportName", order, "exports", "limit", "1000"); len(got) != all+2 || got[all] != "last" {
		t.Errorf("%d exports", len(got))
	}
	if p := w.list(order, "imports", "name", "i10001", "limit", "1"); len(p.Data) != 1 { // IMP-01b: no such budget
		t.Errorf("%+v", p)
	}
}

// wantMore checks a page that is complete although there is more.
func (a answer) wantMore(t *testing.T, n int) {
	t.Helper()
	if p := decode[page](t, a); a.StatusCode != 200 || len(p.Data) != n || p.Paging.NextCursor == "" {
		t.Errorf("%d, %d records, %+v", a.StatusCode, len(p.Data), p.Paging)
	}
}

// A refusal is cheap: it reads no files, and no more documents than it needs to
// know that there are too many.
func TestRefusalsAreCheap(t *testing.T) {
	const order, all = contracts.OrderID(500), 400_000
	w := newFilesWorld(t)
	w.order(1, order)
	w.documents(query.Exports, order, all, 1)
	w.exec("INSERT INTO file_jobs SELECT 1, 'export', ?, number + 1, 'e' || toString(number), now64(3), 1 FROM numbers(?)", uint64(order), all)
	w.get(path(order, "exports/history/latest"), w.token(reader)).wantProblem(t, 400, "HISTORY_SCOPE_TOO_BROAD")
	w.get(path(order, "exports", "exportName", "e399999"), w.token(reader)).wantProblem(t, 400, "ORDER_SCOPE_TOO_BROAD")
	w.exec("SYSTEM FLUSH LOGS query_log")
	rows := must.Get(w.conn.Query(t.Context(), `SELECT multiIf(query LIKE '%nested%', 'count_files', query LIKE '%groupArray%', 'file_jobs_through', query LIKE '%runs%', 'file_jobs', 'another'), max(read_rows), max(read_bytes), max(query_duration_ms) FROM system.query_log
		WHERE type = 'QueryFinish' AND current_database = currentDatabase() AND (query LIKE '%file_archives FINAL%' OR query LIKE '%file_jobs FINAL%') AND query NOT LIKE '%query_log%' GROUP BY 1`))(t)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var question string
		var read, bytes, took uint64
		must.Do(t, rows.Scan(&question, &read, &bytes, &took))
		t.Logf("%s: %d rows, %d bytes, %d ms", question, read, bytes, took)
		if n++; read > all/4 {
			t.Errorf("%s read %d rows", question, read)
		}
	}
	must.Do(t, rows.Err())
	if n < 2 {
		t.Errorf("%d statements in the log", n)
	}
}
