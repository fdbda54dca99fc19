package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/projector"
)

// raw is a ready-made column: its bytes as they are sent.
type raw struct {
	typ   proto.ColumnType
	rows  int
	state []byte
	data  []byte
}

func (c *raw) Type() proto.ColumnType       { return c.typ }
func (c *raw) Rows() int                    { return c.rows }
func (c *raw) EncodeState(b *proto.Buffer)  { b.Buf = append(b.Buf, c.state...) }
func (c *raw) EncodeColumn(b *proto.Buffer) { b.Buf = append(b.Buf, c.data...) }
func (c *raw) WriteColumn(w *proto.Writer)  { w.ChainWrite(c.data) }

func record(name string, col proto.ColInput) proto.InputColumn {
	c := &raw{typ: col.Type(), rows: col.Rows()}
	if s, ok := col.(proto.StateEncoder); ok {
		var b proto.Buffer
		s.EncodeState(&b)
		c.state = b.Buf
	}
	var b proto.Buffer
	col.EncodeColumn(&b)
	c.data = slices.Clone(b.Buf)
	return proto.InputColumn{Name: name, Data: c}
}

// insert is one ready-made block for one table.
type insert struct {
	table    string
	body     string
	rows     int
	input    proto.Input
	settings []ch.Setting
}

// recorder records the blocks that a projector sends, and passes them on.
type recorder struct {
	projector.Conn
	mu      sync.Mutex
	inserts []insert
}

func (c *recorder) Do(ctx context.Context, q ch.Query) error {
	if table, ok := insertTable(q.Body); ok && len(q.Input) > 0 {
		in := make(proto.Input, len(q.Input))
		for i, col := range q.Input {
			in[i] = record(col.Name, col.Data)
		}
		made := ready(table, in)
		made.settings = slices.DeleteFunc(slices.Clone(q.Settings), func(s ch.Setting) bool { return s.Key == "receive_timeout" })
		c.mu.Lock()
		c.inserts = append(c.inserts, made)
		c.mu.Unlock()
	}
	return c.Conn.Do(ctx, q)
}

func insertTable(body string) (string, bool) {
	for _, t := range []string{"observations_by_mandate", "latest_observations", "observations", "ingested_events"} {
		if strings.HasPrefix(body, "INSERT INTO "+t+" (") {
			return t, true
		}
	}
	return "", false
}

const outcomeType = "Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5)"

// ready turns the projector's columns into the block of a plain INSERT: names
// and types as in the table, and the rows of observations_by_mandate unfolded,
// one for each of their mandates.
func ready(table string, in proto.Input) insert {
	if table == "observations_by_mandate" {
		in = unfold(in)
	}
	names := make([]string, len(in))
	for i := range in {
		c := in[i].Data.(*raw)
		switch in[i].Name {
		case "captured_ms":
			if table == "observations_by_mandate" {
				negate(c.data)
				in[i].Name = "captured_desc"
			} else {
				in[i].Name, c.typ = "captured_at", "DateTime64(3, 'UTC')"
			}
		case "outcome":
			c.typ = outcomeType
		}
		names[i] = in[i].Name
	}
	return insert{
		table: table, rows: in[0].Data.Rows(), input: in,
		body: fmt.Sprintf("INSERT INTO %s (%s) VALUES", table, strings.Join(names, ", ")),
	}
}

func negate(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, uint64(-int64(binary.LittleEndian.Uint64(b))))
	}
}

// unfold repeats each row for the mandates of its array.
func unfold(in proto.Input) proto.Input {
	lists := in[0].Data.(*raw)
	n := lists.rows
	ends := make([]int, n+1) // of the row before each
	for i := range n {
		ends[i+1] = int(binary.LittleEndian.Uint64(lists.data[8*i:]))
	}
	total := ends[n]
	times := func(i int) int { return ends[i+1] - ends[i] }
	out := proto.Input{{Name: "mandate", Data: &raw{typ: proto.ColumnTypeUInt64, rows: total, data: lists.data[8*n:]}}}
	for _, col := range in[1:] {
		c := col.Data.(*raw)
		to := &raw{typ: c.typ, rows: total, state: c.state, data: make([]byte, 0, len(c.data)*total/max(1, n))}
		switch t := string(c.typ); {
		case t == "String":
			at := 0
			for i := range n {
				size, width := binary.Uvarint(c.data[at:])
				next := at + width + int(size)
				for range times(i) {
					to.data = append(to.data, c.data[at:next]...)
				}
				at = next
			}
		case strings.HasPrefix(t, "LowCardinality"):
			flags := binary.LittleEndian.Uint64(c.data)
			width := 1 << (flags & 0xff)
			keys := len(c.data) - n*width
			to.data = append(to.data, c.data[:keys-8]...)
			to.data = binary.LittleEndian.AppendUint64(to.data, uint64(total))
			to.data = appendTimes(to.data, c.data[keys:], width, n, times)
		default:
			to.data = appendTimes(to.data, c.data, len(c.data)/max(1, n), n, times)
		}
		out = append(out, proto.InputColumn{Name: col.Name, Data: to})
	}
	return out
}

func appendTimes(to, from []byte, width, n int, times func(int) int) []byte {
	for i := range n {
		for range times(i) {
			to = append(to, from[i*width:(i+1)*width]...)
		}
	}
	return to
}
