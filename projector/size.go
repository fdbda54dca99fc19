package projector

import (
	"context"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// Size is how large the tables of a server are, and how fast they grow.
type Size struct {
	Bytes, Rows uint64 // of all tables; of observations
	Daily       uint64 // bytes that a day adds, as the last seven days did; 0: unknown, since they hold less than a day, or nothing came
	Drops       bool   // quarters below the floor are dropped
}

// TablesSize asks ClickHouse for it. Rows are taken to be of one size, and events to
// have as many of them as those before had.
func TablesSize(ctx context.Context, conn Conn, partition int) (Size, error) {
	var bytes, rows, events, written, came, seconds proto.ColUInt64
	err := conn.Do(ctx, ch.Query{
		Body: question("size"), Parameters: ch.Parameters(map[string]any{"partition": partition}),
		Result: proto.Results{{Name: "bytes", Data: &bytes}, {Name: "rows", Data: &rows}, {Name: "events", Data: &events}, {Name: "written", Data: &written}, {Name: "came", Data: &came}, {Name: "seconds", Data: &seconds}},
	})
	if err != nil || len(bytes) == 0 {
		return Size{}, err
	}
	from, err := FloorOf(ctx, conn, partition)
	return Size{bytes[0], rows[0], daily(bytes[0], rows[0], events[0], written[0], came[0], time.Duration(seconds[0])*time.Second), !from.IsZero()}, err
}

// daily is what a day adds to bytes, which rows take: of all that were ever written,
// those that are kept. A number of events wrote them, and some came within a time.
func daily(bytes, rows, events, written, came uint64, within time.Duration) uint64 {
	const day = 24 * time.Hour
	if within < day || events == 0 || rows == 0 {
		return 0
	}
	return uint64(float64(bytes) / float64(rows) * float64(written) / float64(events) * float64(came) * float64(day) / float64(within))
}
