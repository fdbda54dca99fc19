package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const aloneDatabase = extraPrefix + "alone"

// measureNeighbours reads the page of a small mandate alongside the rows of all
// others, and in a database that only has its own rows.
func (r *run) measureNeighbours(ctx context.Context) error {
	m := r.data.alone
	if m == 0 {
		r.result.Missing = append(r.result.Missing, "a page beside 100 x more rows: with so few observations no mandate of 1 % fills a page")
		return nil
	}
	w := r.world
	parts, err := r.cut(ctx, aloneDatabase, fmt.Sprintf("mandate = %d", m), "1")
	if err != nil {
		return err
	}
	own, err := w.number(ctx, aloneDatabase, "SELECT count() FROM observations_by_mandate")
	if err != nil {
		return err
	}
	query := window(r.data.from, r.data.to, "globalScope", "true", "limit", "10000")
	since := time.Now()
	series, err := r.interleave(ctx, r.size.warm, r.size.rounds,
		contestant{"beside the others", r.paged(w.database, m, query)},
		contestant{"alone", r.paged(aloneDatabase, m, query)},
	)
	if err != nil {
		return err
	}
	t := Table{
		Title: "Page of 10,000 of one mandate, beside the others and alone", Series: series,
		Note: fmt.Sprintf("Mandate %d has %s of the %s rows by mandate: %.0f x more beside it.", m, grouped(int64(own)), grouped(r.data.byMandate), float64(r.data.byMandate)/own) + fmt.Sprintf(" Both have %d parts.", parts),
	}
	var read [2]float64
	for i, db := range []string{w.database, aloneDatabase} {
		work, err := r.work(ctx, db, since, byMandate)
		if err != nil {
			return err
		}
		if len(work) > 0 {
			work[0].Name = series[i].Name
			read[i] = work[0].ReadRows
			t.Work = append(t.Work, work[0])
		}
	}
	r.result.Tables = append(r.result.Tables, t)
	r.result.put("page_beside_100x", "page beside 100 x more rows of other mandates: time against alone", "×", slower(series[0], series[1]), 1.15, true, "")
	r.result.put("page_beside_100x_read_rows", "the same, rows that ClickHouse reads", "×", exactly(read[0]/read[1]), 1.05, true,
		"both round up to granules of the key, which lie differently")
	return nil
}

// cut creates a database with some mandates and some of their rows, and a query
// service on it. It has as many parts as the main one: rows are copied part by
// part and never merged, because a page looks into every part, and that is not
// what is compared.
func (r *run) cut(ctx context.Context, database, mandates, rows string) (parts int, err error) {
	w := r.world
	if err := w.makeDatabase(ctx, database); err != nil {
		return 0, err
	}
	if err := r.copyTables(ctx, database, mandates, "accounts", "mandates", "orders", "scope_pairs", "scopes", "scopes_applied"); err != nil {
		return 0, err
	}
	if err := w.exec(ctx, "SYSTEM STOP MERGES "+database+".observations_by_mandate"); err != nil {
		return 0, err
	}
	names, err := w.rows(ctx, w.database, "SELECT name FROM system.parts WHERE active AND database = '"+w.database+"' AND table = 'observations_by_mandate'")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := r.copyTables(ctx, database, fmt.Sprintf("%s AND %s AND _part = '%s'", mandates, rows, name[0]), "observations_by_mandate"); err != nil {
			return 0, err
		}
	}
	if err := r.copyTables(ctx, database, "1", "sites", "items", "checkpoints"); err != nil {
		return 0, err
	}
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	return len(names), w.serve(ctx, database)
}

// copyTables copies rows of the main database, matching columns by name.
func (r *run) copyTables(ctx context.Context, to, where string, tables ...string) error {
	for _, table := range tables {
		rows, err := r.world.rows(ctx, r.world.database, "SELECT name FROM system.columns WHERE database = '"+to+"' AND table = '"+table+"' AND default_kind IN ('', 'DEFAULT') ORDER BY position")
		if err != nil {
			return err
		}
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = row[0].(string)
		}
		columns := strings.Join(names, ", ")
		if err := r.world.exec(ctx, fmt.Sprintf("INSERT INTO %s.%s (%s) SELECT %s FROM %s.%s WHERE %s SETTINGS async_insert = 0", to, table, columns, columns, r.world.database, table, where)); err != nil {
			return err
		}
	}
	return nil
}
