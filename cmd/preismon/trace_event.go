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

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
)

type traceCmd struct {
	roleFlags
	Site  siteFlags      `embed:""`
	Share partitionFlags `embed:""`
	Event string         `arg:"" help:"Id of the event." placeholder:"EVENT_ID"`
}

func (c *traceCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats, chCfg, err := c.Site.config("trace", log)
	id, idErr := uuid.Parse(c.Event)
	if idErr != nil {
		idErr = fmt.Errorf("event: %q is not the id of an event, which is a UUID", c.Event)
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
	message *event.Stored      // nil: the stream no longer has it
	letter  *ingest.DeadLetter // nil: it is not a dead letter
	written *projector.Written // of OBSERVATIONS; nil: not in the tables
	seq     uint64             // in its stream
	now     event.Incarnation  // of its stream
	mark    struct {           // the checkpoint of its stream
		epoch uint32
		seq   uint64
	}
}

// findEvent searches the tables, then the streams; nil: it is nowhere.
func findEvent(ctx context.Context, b *bus, tables projector.Conn, id uuid.UUID, partition int) (at *whereabouts, err error) {
	at = &whereabouts{id: id}
	stream := event.StreamObservations
	history := ingest.NewHistory(b.js)
	if at.written, err = projector.FindEvent(ctx, tables, id); err != nil {
		return nil, err
	}
	if at.written != nil {
		at.seq = at.written.Seq
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
	if at.written == nil {
		state, err := history.State(ctx, stream)
		if err != nil {
			return nil, err
		}
		at.now = state.Incarnation
		list, _, err := ingest.NewDeadLetters(b.js).List(ctx, ingest.LetterFilter{Stream: stream})
		if err != nil {
			return nil, err
		}
		at.letter = at.letterIn(list)
	}
	at.mark.epoch, at.mark.seq, err = projector.CheckpointOf(ctx, tables, stream, partition)
	return at, err
}

// inStreams searches the streams for a message with the id.
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

// letterIn returns the dead letter of the event's message; nil: there is none.
// Another message may have had the same sequence, before the stream was made
// again or lost its tail.
func (w *whereabouts) letterIn(list []ingest.DeadLetter) *ingest.DeadLetter {
	for i, l := range list {
		if l.Seq == w.seq && w.now.Same(l.Epoch, l.Seq) == l.Seq {
			return &list[i]
		}
	}
	return nil
}

// passed reports whether the checkpoint has reached the event.
func (w *whereabouts) passed() bool {
	if w.written == nil {
		return w.now.Same(w.mark.epoch, w.mark.seq) >= w.seq
	}
	return w.written.Epoch < w.mark.epoch || w.written.Epoch == w.mark.epoch && w.mark.seq >= w.seq
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
	case w.written != nil && w.passed() && w.written.Expired >= uint64(w.written.Rows):
		line("tables", "%s of it, too old and no longer kept: see --keep-rows of the projector", plural(w.written.Rows, "row"))
	case w.written != nil && w.passed() && w.written.Expired > 0:
		line("tables", "%d of its %d rows, visible: the checkpoint is %d; the others are too old and no longer kept", uint64(w.written.Rows)-w.written.Expired, w.written.Rows, w.mark.seq)
	case w.written != nil && w.passed():
		line("tables", "%s, visible: the checkpoint is %d", plural(w.written.Rows, "row"), w.mark.seq)
	case w.written != nil:
		line("tables", "%s, not visible yet: the checkpoint is %d", plural(w.written.Rows, "row"), w.mark.seq)
	case w.message.Stream == event.StreamCatalog && w.passed():
		line("tables", "applied: the checkpoint of the catalogue is %d", w.mark.seq)
	case w.passed():
		line("tables", "nothing of it: the checkpoint is %d, so it is of another partition or a copy of an event that was there", w.mark.seq)
	default:
		line("tables", "not written yet: the checkpoint is %d", w.mark.seq)
	}
	if w.written != nil {
		by := []string{"none has rows of it"}
		for i, m := range w.written.Mandates {
			by = append(by[:min(i, len(by))], fmt.Sprintf("%s (%d): %s", printable(m.Name, ""), m.Mandate, plural(m.Rows, "row")))
		}
		line("mandates", "%s", strings.Join(by, "; "))
	}
	return t.Flush()
}
