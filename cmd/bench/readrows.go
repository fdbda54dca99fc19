package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"preismon/deploy/embedded"
)

// measureReadRows compares the rows that ClickHouse reads for a stream with
// those that are sent: of a whole mandate, whose rows are next to each other,
// and of one of its sites, whose rows are among those of the others.
func (r *run) measureReadRows(ctx context.Context) error {
	const mandate = 1
	sites, err := r.world.number(ctx, r.world.database, fmt.Sprintf("SELECT uniqExact(site) FROM scope_pairs WHERE mandate = %d", mandate))
	if err != nil {
		return err
	}
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
		d, err := r.stream(ctx, r.world.database, mandate, q.query, nil)
		if err != nil {
			return err
		}
		if d.rows == 0 {
			return errors.New(q.title + ": no rows")
		}
		read, err := r.readRows(ctx, since)
		if err != nil {
			return err
		}
		if read == 0 { // it keeps no query log
			return nil
		}
		r.result.put(q.key, q.title+": rows that ClickHouse reads for each row sent", "×", exactly(read/float64(d.rows)), q.target, true, q.note)
	}
	return nil
}

// readRows returns how many rows all statements of the query services on tables
// of observations have read since a moment; 0 where there is no query log.
func (r *run) readRows(ctx context.Context, since time.Time) (float64, error) {
	work, err := r.work(ctx, r.world.database, since, "%FROM observations%") // flushes the log, and says if there is none
	if err != nil || len(work) == 0 {
		return 0, err
	}
	_, user, _ := r.world.httpAccess(embedded.QueryUser)
	return r.world.number(ctx, r.world.database, fmt.Sprintf(
		"SELECT sum(read_rows) FROM system.query_log WHERE type > 1 AND event_time_microseconds >= fromUnixTimestamp64Micro(%d) AND user = '%s' AND current_database = '%s' AND query LIKE '%%FROM observations%%'",
		since.UnixMicro(), user, r.world.database))
}
