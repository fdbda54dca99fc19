package projector

import (
	"context"
	"errors"
	"fmt"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

// ErrOtherPartition means that the tables were written by another partition, or
// by one of a different number of partitions. They would lack rows, or hold
// rows that belong elsewhere.
var ErrOtherPartition = errors.New("the tables are of another partition")

// CheckTables checks that the tables have this program's schema, and that no
// other partition, nor one of a different number of partitions, wrote them: see
// package schema for its errors, and ErrOtherPartition. Each of these is also
// an event.ErrRefused; any other error means that the tables could not be
// checked.
func CheckTables(ctx context.Context, conn Conn, partition, partitions int) error {
	err := schema.Check(ctx, conn)
	if err == nil {
		err = checkPartition(ctx, conn, partition, partitions)
	}
	for _, wrong := range []error{schema.ErrNotMigrated, schema.ErrNewer, schema.ErrEdited, ErrOtherPartition} {
		if errors.Is(err, wrong) {
			return refused{err}
		}
	}
	return err
}

// refused is an event.ErrRefused with the text of its reason.
type refused struct{ error }

func (r refused) Unwrap() []error { return []error{r.error, event.ErrRefused} }

func checkPartition(ctx context.Context, conn Conn, partition, partitions int) error {
	var owner uint16
	var of uint32
	var other error
	err := read(ctx, conn, "other_partitions", args{"partition": partition, "partitions": partitions}, clickhouse.Row{"partition": &owner, "partitions": &of}, func() {
		wrote := fmt.Sprintf("partition %d", owner)
		if of > 0 {
			wrote += fmt.Sprintf(" of %d", of)
		}
		other = fmt.Errorf("%w: %s wrote them, and this is partition %d of %d; each partition needs a database of its own, and another number of partitions needs new ones",
			ErrOtherPartition, wrote, partition, partitions)
	})
	if err != nil {
		return err
	}
	return other
}

// NewestFence returns the newest leader's fence in the tables; 0: none.
func NewestFence(ctx context.Context, conn Conn, partition int) (newest uint64, err error) {
	err = read(ctx, conn, "newest_fence", args{"partition": partition}, clickhouse.Row{"n": &newest}, nil)
	return newest, err
}
