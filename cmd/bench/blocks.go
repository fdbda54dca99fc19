package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/projector"
)

// raw is a ready-made column: its bytes as they are sent.
type raw struct {
	typ         proto.ColumnType
	rows        int
	state, data proto.Buffer
}

func (c *raw) Type() proto.ColumnType       { return c.typ }
func (c *raw) Rows() int                    { return c.rows }
func (c *raw) EncodeState(b *proto.Buffer)  { b.PutRaw(c.state.Buf) }
func (c *raw) EncodeColumn(b *proto.Buffer) { b.PutRaw(c.data.Buf) }
func (c *raw) WriteColumn(w *proto.Writer)  { w.ChainWrite(c.data.Buf) }

// insert is one ready-made block for one table.
type insert struct {
	table    string
	rows     int
	input    proto.Input
	settings []ch.Setting
}

// recorder records the blocks that the inserts of a projector put into tables,
// and passes the inserts on.
type recorder struct {
	projector.Conn
	mu      sync.Mutex
	inserts []insert
}

// recorded are the tables whose blocks are recorded.
var recorded = []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events"}

// staging returns the statements that make a table in memory for each of those
// of a database, for a block to be read back as it arrives there.
func staging(database string) (all []string) {
	for _, table := range recorded {
		all = append(all, "CREATE TABLE "+database+".staged_"+table+" AS "+database+"."+table+" ENGINE = Memory")
	}
	return all
}

func (c *recorder) Do(ctx context.Context, q ch.Query) error {
	for _, table := range recorded {
		if columns, ok := strings.CutPrefix(q.Body, "INSERT INTO "+table+" ("); ok && len(q.Input) > 0 {
			staged := q
			staged.QueryID, staged.Body = "", "INSERT INTO staged_"+table+" ("+columns
			if err := c.record(ctx, table, staged); err != nil {
				return err
			}
		}
	}
	return c.Conn.Do(ctx, q)
}

// record runs an insert into the staging table, and keeps what it put there as
// the block of a plain INSERT: names and types as in the table, and the rows of
// observations_by_mandate unfolded, one for each of their mandates.
func (c *recorder) record(ctx context.Context, table string, staged ch.Query) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	settings := slices.DeleteFunc(slices.Clone(staged.Settings), func(s ch.Setting) bool { return s.Key == "receive_timeout" })
	var found proto.Results
	keep := func(_ context.Context, b proto.Block) (err error) {
		made := insert{table: table, rows: b.Rows, settings: settings}
		for _, column := range found {
			col := column.Data.(proto.Column)
			if p, ok := col.(proto.Preparable); ok {
				err = errors.Join(err, p.Prepare())
			}
			to := &raw{typ: col.Type(), rows: col.Rows()}
			if s, ok := col.(proto.StateEncoder); ok {
				s.EncodeState(&to.state)
			}
			col.EncodeColumn(&to.data)
			made.input = append(made.input, proto.InputColumn{Name: column.Name, Data: to})
		}
		if b.Rows > 0 {
			c.inserts = append(c.inserts, made)
		}
		return err
	}
	for _, step := range []ch.Query{
		staged,
		{Body: "SELECT * FROM staged_" + table, Result: found.Auto(), OnResult: keep},
		{Body: "TRUNCATE TABLE staged_" + table},
	} {
		if err := c.Conn.Do(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
