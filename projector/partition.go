package projector

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
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
	var who proto.ColUInt16
	var of proto.ColUInt32
	var other error
	err := conn.Do(ctx, ch.Query{
		Body: question("other_partitions"), Parameters: ch.Parameters(args{"partition": partition, "partitions": partitions}),
		Settings: readSettings, Result: proto.Results{{Name: "partition", Data: &who}, {Name: "partitions", Data: &of}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range who {
				wrote := fmt.Sprintf("partition %d", who[i])
				if of[i] > 0 {
					wrote += fmt.Sprintf(" of %d", of[i])
				}
				other = fmt.Errorf("%w: %s wrote them, and this is partition %d of %d; each partition needs a database of its own, and another number of partitions needs new ones",
					ErrOtherPartition, wrote, partition, partitions)
			}
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("other_partitions: %w", err)
	}
	return other
}

// NewestFence returns the newest leader's fence in the tables; 0: none.
func NewestFence(ctx context.Context, conn Conn, partition int) (newest uint64, err error) {
	var n proto.ColUInt64
	err = conn.Do(ctx, ch.Query{
		Body: question("newest_fence"), Parameters: ch.Parameters(args{"partition": partition}),
		Settings: readSettings, Result: proto.Results{{Name: "n", Data: &n}},
		OnResult: func(context.Context, proto.Block) error {
			for _, v := range n {
				newest = v
			}
			return nil
		},
	})
	if err != nil {
		return 0, fmt.Errorf("newest_fence: %w", err)
	}
	return newest, nil
}
