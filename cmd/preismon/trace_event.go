package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/alecthomas/kong"
	"github.com/google/uuid"
)

type traceCmd struct {
	roleFlags
	Site  siteFlags      `embed:""`
	Share partitionFlags `embed:""`
	Event string         `arg:"" help:"Id of the event." placeholder:"EVENT_ID"`
}

// Help implements kong.HelpProvider.
func (traceCmd) Help() string {
	return `Says where an event is: in which stream and at which sequence, whether it became a dead letter and why, whether its rows are in the tables and behind the checkpoint, and which mandates have rows of it. An event that is not in the tables is searched in the streams, which takes as long as reading their headers.

Where there are several partitions it looks at the tables of one.

Exit code 5: there is no such event.

Example:

  preismon trace 0198c6f0-6f2a-7cc1-9d3e-2f1b8f7f0a55 --data-dir ./preismon-data`
}

func (c *traceCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats, chCfg, err := c.Site.config("trace", log)
	id, idErr := uuid.Parse(c.Event)
	if idErr != nil {
		idErr = fmt.Errorf("event: %q is no id of an event, which is a UUID", c.Event)
	}
	if done, err := c.only(k, std.out, faulty(err, idErr, c.Share.faults())); done {
		return err
	}
	b, err := connect(nats)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	pool := clickhouse.Open(chCfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	at, err := findEvent(ctx, b, pool, id, c.Share.Partition)
	if err != nil {
		return err
	}
	if at == nil {
		fmt.Fprintf(std.out, "Event %s is in no stream and not in the tables. It was never acknowledged, or a later record of the same thing took its place in CATALOG, or the stream has removed it.\n", id)
		return errFound
	}
	return at.print(std.out)
}

// whereabouts is where an event is.
type whereabouts struct {
	id      uuid.UUID
	message *event.Stored      // nil: the stream has it no more
	letter  *ingest.DeadLetter // nil: it is none
	written bool               // of OBSERVATIONS: ingested_events has it
	epoch   uint32
	seq     uint64
	rows    uint32
	mark    [2]uint64 // the checkpoint of its stream: epoch and sequence
	by      []string  // rows by mandate
}

// findEvent looks in the tables, then in the streams; nil: it is nowhere.
func findEvent(ctx context.Context, b *bus, tables projector.Conn, id uuid.UUID, partition int) (*whereabouts, error) {
	at := &whereabouts{id: id}
	stream := event.StreamObservations
	history := ingest.NewHistory(b.js)
	if err := at.inTables(ctx, tables); err != nil {
		return nil, err
	}
	if at.written {
		if m, ok, err := history.At(ctx, stream, at.seq); err != nil {
			return nil, err
		} else if ok && m.ID == id.String() {
			at.message = &m
		}
	} else {
		m, err := inStreams(ctx, history, id)
		if m == nil || err != nil {
			return nil, err
		}
		at.message, at.seq, stream = m, m.Seq, m.Stream
	}
	if !at.written {
		list, _, err := ingest.NewDeadLetters(b.js).List(ctx, ingest.LetterFilter{Stream: stream})
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Seq == at.seq {
				at.letter = &list[i]
			}
		}
	}
	return at, at.checkpoint(ctx, tables, stream, partition)
}

// inStreams searches the streams for a message of the id.
func inStreams(ctx context.Context, history ingest.History, id uuid.UUID) (*event.Stored, error) {
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		for m, err := range history.Read(ctx, event.ReadRequest{Stream: stream}) {
			if err != nil {
				return nil, err
			}
			if m.ID == id.String() {
				return &m, nil
			}
		}
	}
	return nil, nil
}

// inTables looks for the event among those that are written, and who has rows of it.
func (w *whereabouts) inTables(ctx context.Context, tables projector.Conn) error {
	var (
		epoch, rows proto.ColUInt32
		seq, n      proto.ColUInt64
		name        proto.ColStr
	)
	err := tables.Do(ctx, ch.Query{
		Body:       "SELECT epoch, seq, rows FROM ingested_events WHERE event_id = {id:UUID} LIMIT 1",
		Parameters: ch.Parameters(map[string]any{"id": w.id.String()}),
		Result:     proto.Results{{Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}, {Name: "rows", Data: &rows}},
	})
	if err != nil || len(epoch) == 0 {
		return err
	}
	w.written, w.epoch, w.seq, w.rows = true, epoch[0], seq[0], rows[0]
	return tables.Do(ctx, ch.Query{
		Body: `SELECT concat(any(m.name), ' (', toString(mandate), ')') AS name, count() AS n FROM observations_by_mandate AS o
LEFT JOIN (SELECT mandate, name FROM mandates FINAL) AS m USING (mandate)
WHERE epoch = {epoch:UInt32} AND seq = {seq:UInt64} GROUP BY mandate ORDER BY mandate`,
		Parameters: ch.Parameters(map[string]any{"epoch": w.epoch, "seq": w.seq}),
		Result:     proto.Results{{Name: "name", Data: &name}, {Name: "n", Data: &n}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range n {
				w.by = append(w.by, fmt.Sprintf("%s: %d rows", printable(name.Row(i), ""), n[i]))
			}
			return nil
		},
	})
}

// checkpoint reads how far the event's stream is applied.
func (w *whereabouts) checkpoint(ctx context.Context, tables projector.Conn, stream string, partition int) error {
	var epoch proto.ColUInt32
	var seq proto.ColUInt64
	err := tables.Do(ctx, ch.Query{
		Body:       "SELECT epoch, seq FROM checkpoints FINAL WHERE stream = {stream:String} AND partition = {partition:UInt16}",
		Parameters: ch.Parameters(map[string]any{"stream": stream, "partition": partition}),
		Result:     proto.Results{{Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}},
	})
	if err == nil && len(epoch) > 0 {
		w.mark = [2]uint64{uint64(epoch[0]), seq[0]}
	}
	return err
}

// passed tells whether the checkpoint is at or behind the event.
func (w *whereabouts) passed() bool {
	return uint64(w.epoch) < w.mark[0] || w.mark[1] >= w.seq
}

func (w *whereabouts) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("event", "%s", w.id)
	switch m := w.message; {
	case m == nil:
		line("stream", "was sequence %d of %s, which has it no more", w.seq, event.StreamObservations)
	default:
		line("stream", "%s, sequence %d, subject %s, %d bytes, stored %s", m.Stream, m.Seq, printable(m.Subject, ""), m.Size, m.At.UTC().Format(time.RFC3339Nano))
	}
	if w.letter != nil {
		line("dead letter", "%d, since %s: %s", w.letter.Letter, w.letter.At.UTC().Format(time.RFC3339), printable(w.letter.Reason, ""))
		line("", "→ preismon deadletters show %d", w.letter.Letter)
		return t.Flush()
	}
	switch {
	case w.written && w.passed():
		line("tables", "%d rows, visible: the checkpoint is %d", w.rows, w.mark[1])
	case w.written:
		line("tables", "%d rows, not visible yet: the checkpoint is %d", w.rows, w.mark[1])
	case w.message.Stream == event.StreamCatalog && w.passed():
		line("tables", "applied: the checkpoint of the catalogue is %d", w.mark[1])
	case w.passed():
		line("tables", "nothing of it: the checkpoint is %d, so it is of another partition or a copy of an event that was there", w.mark[1])
	default:
		line("tables", "not written yet: the checkpoint is %d", w.mark[1])
	}
	if w.written {
		line("mandates", "%s", strings.Join(orNone(w.by), "; "))
	}
	return t.Flush()
}

func orNone(list []string) []string {
	if len(list) == 0 {
		return []string{"none sees it"}
	}
	return list
}
