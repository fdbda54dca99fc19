package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// measureReadRows compares the rows that ClickHouse reads for a stream with
// those that are sent: of a whole mandate, whose rows are next to each other,
// and of one of its sites, whose rows are among those of the others.
func (r *run) measureReadRows(ctx context.Context) {
	const mandate = 1
	sites := r.number(ctx, fmt.Sprintf("SELECT uniqExact(site) FROM scope_pairs WHERE mandate = %d", mandate))
	for _, q := range []struct {
		key, title string
		query      url.Values
		target     float64
		note       string
	}{
		{"mandate_read_rows_per_row", "a week's stream of a whole mandate", window(r.data.from, r.data.to, "globalScope", "true"), 1.1, ""},
		{
			"site_read_rows_per_row", "a week's stream of one site of a mandate", window(r.data.from, r.data.to, "site", siteName(0)), 3,
			fmt.Sprintf("the mandate has %.0f sites; the target is for fourteen", sites),
		},
	} {
		since := time.Now()
		sent := r.interleave(ctx, 0, 1, contestant{q.title, r.streams(mandate, q.query, nil)})[0].Rows
		if sent == 0 {
			r.failed(errors.New(q.title + ": no rows"))
		}
		work := r.work(ctx, r.world.database, since, "%FROM observations%")
		if len(work) == 0 { // it keeps no query log
			return
		}
		r.put(q.key, q.title+": rows that ClickHouse reads for each row sent", "×", exactly(work[0].allRows/float64(sent)), q.target, true, q.note)
	}
}
