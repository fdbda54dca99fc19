package projector

import (
	"context"
	"errors"
	"time"

	"preismon/projector/clickhouse"
)

// Quarter is a partition of a large table: the rows captured in three months.
type Quarter struct {
	First time.Time // its first day, in UTC
	Bytes uint64    // of its rows, on this server's disk
}

// next returns the first day of the following quarter.
func (q Quarter) next() time.Time { return q.First.AddDate(0, 3, 0) }

// ErrNotByQuarter means that the rows of a table are not partitioned by
// quarter, so that old ones cannot be removed at no cost.
var ErrNotByQuarter = errors.New("the tables do not lie by quarters, as those of earlier versions; \"preismon rebuild\" makes tables that do")

// Quarters returns the quarters of the rows of the two large tables, the oldest
// first: ErrNotByQuarter.
func Quarters(ctx context.Context, conn Conn) (map[string][]Quarter, error) {
	var (
		table string
		first uint32 // day of a quarter, as YYYYMMDD
		bytes uint64
		all   = map[string][]Quarter{}
		plain error
	)
	err := read(ctx, conn, "partitions", nil, clickhouse.Row{"table": &table, "quarter": &first, "bytes": &bytes}, func() {
		if first == 0 {
			plain = ErrNotByQuarter
			return
		}
		day := time.Date(int(first/10_000), time.Month(first/100%100), 1, 0, 0, 0, 0, time.UTC)
		all[table] = append(all[table], Quarter{day, bytes})
	})
	if err != nil {
		return nil, err
	}
	return all, plain
}

// Fitting returns the first day of the oldest quarter that fits into so many
// bytes together with everything that came after it, in both tables; zero: all
// of them fit. ErrNotByQuarter.
func Fitting(ctx context.Context, conn Conn, bytes uint64) (time.Time, error) {
	tables, err := Quarters(ctx, conn)
	if err != nil {
		return time.Time{}, err
	}
	sizes, newest := map[time.Time]uint64{}, time.Time{}
	oldest := time.Time{}
	for _, all := range tables {
		for _, q := range all {
			sizes[q.First] += q.Bytes
			if q.First.After(newest) {
				newest = q.First
			}
			if oldest.IsZero() || q.First.Before(oldest) {
				oldest = q.First
			}
		}
	}
	for at, sum := newest, uint64(0); !at.Before(oldest); at = at.AddDate(0, -3, 0) {
		if sum += sizes[at]; sum > bytes {
			return at.AddDate(0, 3, 0), nil
		}
	}
	return time.Time{}, nil
}
