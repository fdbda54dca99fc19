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
}

// TablesSize asks ClickHouse for it. Events are taken to be of one size.
func TablesSize(ctx context.Context, conn Conn, partition int) (Size, error) {
	var bytes, rows, last, first, seconds proto.ColUInt64
	err := conn.Do(ctx, ch.Query{
		Body: question("size"), Parameters: ch.Parameters(map[string]any{"partition": partition}),
		Result: proto.Results{{Name: "bytes", Data: &bytes}, {Name: "rows", Data: &rows}, {Name: "last", Data: &last}, {Name: "first", Data: &first}, {Name: "seconds", Data: &seconds}},
	})
	if err != nil || len(bytes) == 0 {
		return Size{}, err
	}
	return Size{bytes[0], rows[0], daily(bytes[0], last[0], first[0], time.Duration(seconds[0])*time.Second)}, nil
}

// daily is what a day adds to bytes, which the events up to last take, when those
// after first came in a time.
func daily(bytes, last, first uint64, within time.Duration) uint64 {
	const day = 24 * time.Hour
	if within < day || last == 0 {
		return 0
	}
	return uint64(float64(bytes) * float64(last-first) / float64(last) * float64(day) / float64(within))
}
