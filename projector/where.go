package projector

import (
	"context"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// Server queries ClickHouse for its version and its time.
func Server(ctx context.Context, conn Conn) (version string, now time.Time, err error) {
	var v proto.ColStr
	var ms proto.ColInt64
	err = conn.Do(ctx, ch.Query{Body: question("server"), Result: proto.Results{{Name: "version", Data: &v}, {Name: "now_ms", Data: &ms}}})
	if err != nil || len(ms) == 0 {
		return "", now, err
	}
	return v.Row(0), time.UnixMilli(ms[0]), nil
}

// Room is how much is left of something, in bytes. The zero value: unknown.
type Room struct{ Free, Total uint64 }

// ServerRoom returns how much is left of a server's fullest disk, and of its
// machine's memory, which ClickHouse as a library does not know.
func ServerRoom(ctx context.Context, conn Conn) (disk, memory Room, err error) {
	if disk, err = roomOf(ctx, conn, "disk"); err != nil {
		return disk, memory, err
	}
	memory, err = roomOf(ctx, conn, "memory")
	if ch.IsErr(err, proto.ErrUnknownTable) {
		err = nil
	}
	return disk, memory, err
}

func roomOf(ctx context.Context, conn Conn, name string) (Room, error) {
	var free, total proto.ColUInt64
	err := conn.Do(ctx, ch.Query{Body: question(name), Result: proto.Results{{Name: "free", Data: &free}, {Name: "total", Data: &total}}})
	if err != nil || len(free) == 0 {
		return Room{}, err
	}
	return Room{free[0], total[0]}, nil
}

// Written is where an event of OBSERVATIONS is in the tables.
type Written struct {
	Epoch    uint32
	Seq      uint64
	Rows     uint32
	Expired  uint64 // of these rows: below the floor, no longer kept or never written
	Mandates []WrittenFor
}

// WrittenFor is how many rows of an event a mandate has.
type WrittenFor struct {
	Mandate uint64
	Name    string
	Rows    uint64
}

// FindEvent returns where an event is written; nil: its rows are in no table.
func FindEvent(ctx context.Context, conn Conn, id uuid.UUID) (*Written, error) {
	var (
		epoch, rows proto.ColUInt32
		seq, n, of  proto.ColUInt64
		expired     proto.ColUInt64
		name        proto.ColStr
	)
	err := conn.Do(ctx, ch.Query{
		Body: question("find_event"), Parameters: ch.Parameters(args{"id": id.String()}), Settings: readSettings,
		Result: proto.Results{{Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}, {Name: "rows", Data: &rows}, {Name: "expired", Data: &expired}},
	})
	if err != nil || len(epoch) == 0 {
		return nil, err
	}
	w := &Written{Epoch: epoch[0], Seq: seq[0], Rows: rows[0], Expired: expired[0]}
	return w, conn.Do(ctx, ch.Query{
		Body: question("event_mandates"), Parameters: ch.Parameters(args{"epoch": w.Epoch, "seq": w.Seq}), Settings: readSettings,
		Result: proto.Results{{Name: "mandate", Data: &of}, {Name: "name", Data: &name}, {Name: "n", Data: &n}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range n {
				w.Mandates = append(w.Mandates, WrittenFor{of[i], name.Row(i), n[i]})
			}
			return nil
		},
	})
}

// AppliedTo returns how far a stream is applied in the tables of a partition.
func AppliedTo(ctx context.Context, conn Conn, stream string, partition int) (epoch uint32, seq uint64, err error) {
	var (
		name   = new(proto.ColStr).LowCardinality()
		epochs proto.ColUInt32
		seqs   proto.ColUInt64
	)
	err = conn.Do(ctx, ch.Query{
		Body: question("checkpoints"), Parameters: ch.Parameters(args{"partition": partition}), Settings: readSettings,
		Result: proto.Results{{Name: "stream", Data: name}, {Name: "epoch", Data: &epochs}, {Name: "seq", Data: &seqs}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range seqs {
				if name.Row(i) == stream {
					epoch, seq = epochs[i], seqs[i]
				}
			}
			return nil
		},
	})
	return epoch, seq, err
}
