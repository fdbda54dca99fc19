package rest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/query"
)

// A cursor works only for the request that it was issued for (choices 22).
func TestFileCursorsAreBound(t *testing.T) {
	w := historyWorld.Get(t).of(t) // what it adds belongs to order B, which no other test reads
	w.add(document{query.Exports, orderB, 11, "2026-03-08T05:00:00Z", []file{{name: "prices", filename: "of-b-too.csv"}}})
	w.job(query.Exports, orderB, 11, "Daily")
	w.job(query.Exports, orderB, 12, "Weekly")
	entries := w.list(orderA, "exports/history", "limit", "1").Paging.NextCursor
	jobs := w.list(orderA, "exports", "limit", "1").Paging.NextCursor
	if p := w.list(orderA, "exports/history", "limit", "3", "cursor", entries); len(p.Data) != 3 { // only limit may change
		t.Errorf("%+v", p.Paging)
	}
	for _, c := range []struct {
		account contracts.AccountID
		path    string
	}{
		{reader, path(orderB, "exports/history", "cursor", entries)},
		{reader, path(orderA, "imports/history", "cursor", entries)},
		{reader, path(orderA, "exports", "cursor", entries)},
		{reader, path(orderA, "exports/history", "cursor", jobs)},
		{reader, path(orderA, "imports", "cursor", jobs)},
		{reader, path(orderB, "exports", "cursor", jobs)},
		{reader, path(orderA, "exports", "cursor", jobs, "exportName", "Daily")},
		{reader, path(orderA, "exports/history", "cursor", entries, "name", "prices")},
		{reader, path(orderA, "exports/history", "cursor", entries, "dateFrom", "2026-03-01")},
		{oneOrder, path(orderA, "exports/history", "cursor", entries)},
		{reader, path(orderA, "exports/history", "cursor", edited(entries))},
	} {
		w.get(c.path, w.token(c.account)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	w.clock.advance(30*24*time.Hour + time.Minute)
	w.get(path(orderA, "exports/history", "cursor", entries), w.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
}

// edited flips the lowest bit of the last character, which may hold only unused
// bits.
func edited(cursor string) string {
	last := cursor[len(cursor)-1]
	return cursor[:len(cursor)-1] + string(last^1)
}

// A document that is published again with other files replaces the first.
func TestHistoryShowsTheLastRecord(t *testing.T) {
	w := newFilesWorld(t)
	w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "a", filename: "a.csv"}, {name: "b", filename: "b.csv"}}})
	w.exec("INSERT INTO file_archives SELECT * REPLACE (arraySlice(files, 1, 1) AS files, 2 AS version, archived_at + toIntervalDay(1) AS archived_at) FROM file_archives")
	p := w.list(orderA, "exports/history")
	if diff := cmp.Diff([]string{"a.csv"}, keys(p, "filename")); diff != "" || p.Data[0]["archivedAt"] != "2026-03-02T05:00:00.000Z" {
		t.Error(diff, p.Data)
	}
}

// A read of the catalogue that takes too long is a 504 that advises only what
// exists: a list has a limit that may be lower, a file has none, and neither
// has a window.
func TestFileReadsHaveABudget(t *testing.T) {
	s := serve(t)
	s.store.breakDown(func(method string) error {
		if method == "Access" {
			return nil
		}
		return fmt.Errorf("clickhouse: %w", context.DeadlineExceeded)
	})
	for _, route := range bothDirections() {
		p := s.get(path(5, route), s.token(reader)).wantProblem(t, 504, "RESULTS_QUERY_TIMEOUT")
		single := strings.HasSuffix(route, "/latest") || strings.HasSuffix(route, "/download")
		if strings.Contains(p.Detail, "window") || strings.Contains(p.Detail, "limit") == single {
			t.Errorf("%s: %s", route, p.Detail)
		}
		if single {
			continue
		}
		if p := s.get(path(5, route)+"?limit=1", s.token(reader)).wantProblem(t, 504, "RESULTS_QUERY_TIMEOUT"); strings.Contains(p.Detail, "limit") {
			t.Errorf("%s with limit=1: %s", route, p.Detail)
		}
	}
	page := string(s.get("/problems/results-query-timeout", "").body)
	if _, of, ok := strings.Cut(page, "or a file: "); !ok || strings.Contains(strings.SplitN(of, "<", 2)[0], "window") || strings.Contains(strings.SplitN(of, "<", 2)[0], "limit") {
		t.Errorf("the page of the problem: %s", page)
	}
}
