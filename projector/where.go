package projector

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/projector/clickhouse"
)

// Server queries ClickHouse for its version and its time.
func Server(ctx context.Context, conn Conn) (version string, now time.Time, err error) {
	var ms int64
	err = conn.Do(ctx, clickhouse.Scan(ch.Query{Body: question("server")}, clickhouse.Row{"version": &version, "now_ms": &ms}, nil))
	return version, time.UnixMilli(ms), err
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

func roomOf(ctx context.Context, conn Conn, name string) (room Room, err error) {
	err = conn.Do(ctx, clickhouse.Scan(ch.Query{Body: question(name)}, clickhouse.Row{"free": &room.Free, "total": &room.Total}, nil))
	return room, err
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
		is    Written
		found bool
		of    WrittenFor
	)
	err := read(ctx, conn, "find_event", args{"id": id.String()},
		clickhouse.Row{"epoch": &is.Epoch, "seq": &is.Seq, "rows": &is.Rows, "expired": &is.Expired}, func() {
			found = true
		})
	if err != nil || !found {
		return nil, err
	}
	return &is, read(ctx, conn, "event_mandates", args{"epoch": is.Epoch, "seq": is.Seq},
		clickhouse.Row{"mandate": &of.Mandate, "name": &of.Name, "n": &of.Rows}, func() {
			is.Mandates = append(is.Mandates, of)
		})
}

// CheckpointOf returns how far a stream is applied in the tables of a partition.
func CheckpointOf(ctx context.Context, conn Conn, stream string, partition int) (epoch uint32, seq uint64, err error) {
	var (
		of string
		at position
	)
	err = read(ctx, conn, "checkpoints", args{"partition": partition}, clickhouse.Row{"stream": &of, "epoch": &at.epoch, "seq": &at.seq}, func() {
		if of == stream {
			epoch, seq = at.epoch, at.seq
		}
	})
	return epoch, seq, err
}

// read runs a query and calls each for every row; nil: the variables keep the last.
func read(ctx context.Context, conn Conn, name string, values args, row clickhouse.Row, each func()) error {
	return ask(ctx, conn, name, ch.Query{Body: question(name), Parameters: ch.Parameters(values), Settings: readSettings}, row, each)
}

// ask is read for any query; what names it in an error.
func ask(ctx context.Context, conn Conn, what string, q ch.Query, row clickhouse.Row, each func()) error {
	if err := conn.Do(ctx, clickhouse.Scan(q, row, each)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
