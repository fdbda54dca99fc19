package projector

import (
	"context"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

// Size is how large the tables of a server are, and how fast they grow.
type Size struct {
	Bytes, Rows uint64 // of all tables; of observations
	Daily       uint64 // bytes that a day adds, averaged over the last seven days; 0: unknown, because they cover less than a day, or nothing came
	Drops       bool   // quarters below the floor are dropped
}

// TablesSize queries ClickHouse for it. It assumes that all rows have the same
// size, and that new events have as many rows as earlier ones.
func TablesSize(ctx context.Context, conn Conn, partition int) (Size, error) {
	var bytes, rows, events, written, came, seconds uint64
	err := conn.Do(ctx, clickhouse.Scan(ch.Query{Body: question("size"), Parameters: ch.Parameters(args{"partition": partition})},
		clickhouse.Row{"bytes": &bytes, "rows": &rows, "events": &events, "written": &written, "came": &came, "seconds": &seconds}, nil))
	if err != nil {
		return Size{}, err
	}
	from, err := FloorOf(ctx, conn, partition)
	return Size{bytes, rows, daily(bytes, rows, events, written, came, time.Duration(seconds)*time.Second), !from.IsZero()}, err
}

// daily estimates the bytes that a day adds, from the bytes and rows that are
// kept now, the rows that were ever written for the events, and how many of the
// events arrived (came) within a time.
func daily(bytes, rows, events, written, came uint64, within time.Duration) uint64 {
	const day = 24 * time.Hour
	if within < day || events == 0 || rows == 0 {
		return 0
	}
	return uint64(float64(bytes) / float64(rows) * float64(written) / float64(events) * float64(came) * float64(day) / float64(within))
}
