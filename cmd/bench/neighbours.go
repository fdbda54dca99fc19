package main

import (
	"context"
	"fmt"
	"slices"
)

const aloneDatabase = extraPrefix + "alone"

// measureNeighbours reads the page of a small mandate alongside the rows of all
// others, and in a database that only has its own rows.
func (r *run) measureNeighbours(ctx context.Context) {
	m := r.data.alone
	if m == 0 {
		r.result.miss("a page beside 100 x more rows: with so few observations no mandate of 1 % fills a page")
		return
	}
	parts := r.cut(ctx, aloneDatabase, fmt.Sprintf("mandate = %d", m), "1")
	own := r.number(ctx, "SELECT count() FROM "+aloneDatabase+".observations_by_mandate")
	t := r.table("Page of 10,000 of one mandate, beside the others and alone", fmt.Sprintf("Mandate %d has %s of the %s rows by mandate: %.0f x more beside it. Both have %d parts.",
		m, grouped(int64(own)), grouped(r.data.byMandate), float64(r.data.byMandate)/own, parts))
	series := r.readPages(ctx, t, m, []grown{{name: "beside the others", database: r.world.database}, {name: "alone", database: aloneDatabase}})
	r.put("page_beside_100x", "page beside 100 x more rows of other mandates: time against alone", "×", slower(series[0], series[1]), 1.15, true, "")
	if len(t.Work) == 2 { // the server keeps a query log
		r.put("page_beside_100x_read_rows", "the same, rows that ClickHouse reads", "×", exactly(t.Work[0].ReadRows/t.Work[1].ReadRows), 1.05, true,
			"both round up to granules of the key, which lie differently")
	}
}

// cut creates a database with some mandates and some of their rows, and a query
// service on it. It has as many parts as the main one: rows are copied part by
// part and never merged, because a page looks into every part, and that is not
// what is compared.
func (r *run) cut(ctx context.Context, database, mandates, rows string) (parts int) {
	w := r.world
	names := r.rows(ctx, "SELECT name FROM system.parts WHERE active AND database = '"+w.database+"' AND table = 'observations_by_mandate'")
	fill := slices.Concat(
		w.copies(database, mandates, "accounts", "mandates", "orders", "scope_pairs", "scopes", "scopes_applied"),
		w.copies(database, "1", "sites", "items", "checkpoints"),
		[]string{"SYSTEM STOP MERGES " + database + ".observations_by_mandate"},
	)
	for _, name := range names {
		fill = append(fill, w.copies(database, fmt.Sprintf("%s AND %s AND _part = '%s'", mandates, rows, name[0]), "observations_by_mandate")...)
	}
	r.makeDatabase(ctx, database, fill...)
	r.serve(ctx, database)
	return len(names)
}
