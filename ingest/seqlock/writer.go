package seqlock

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"preismon/contracts/event"
)

// Writer tells of the writes of one partition, for one term of its leader. Its
// methods are called one after another.
type Writer struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	id      string // of the message of the next Begin: an attempt that was given up may still arrive, and is stored once
	last    begun
	over    chan struct{} // closed: the last End is not repeated any more
	noRoom  bool          // for the stream, which was logged
}

// begun is a Begin in the stream. The zero value: there was no stream, so that
// nobody could ask.
type begun struct {
	sequence uint64
	id       string
}

func (b begun) inStream() bool { return b != begun{} }

// NewWriter makes a Writer. It asks the server nothing before its first call.
func NewWriter(cfg Config, js jetstream.JetStream, partition int, log *slog.Logger) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Writer{cfg: cfg.withDefaults(), js: js, log: log, subject: writtenSubject(partition, cfg.Partitions), id: nuid.Next(), over: make(chan struct{})}, nil
}

// Begin returns when every reader that asks from now on will know that the
// checkpoints are being written. After an error nothing may be written. Where NATS
// has no room for the stream, or not yet, there is nobody to tell.
func (w *Writer) Begin(ctx context.Context) error {
	close(w.over)
	w.over = make(chan struct{})
	b, err := w.begin(ctx)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		if _, err = w.cfg.open(ctx, w.js); noRoom(err) {
			if !w.noRoom {
				w.log.Warn("NATS has no room for the stream "+Stream+" now: query nodes ask ClickHouse at each request", "bytes", room, "error", err)
			}
			w.last, w.noRoom = begun{}, true
			return nil
		} else if err == nil {
			b, err = w.begin(ctx)
		}
	}
	if err != nil {
		return err
	}
	w.last, w.noRoom = b, false
	return nil
}

// begin stores the message that a checkpoint is being written. An earlier attempt
// that was stored although nobody heard of it may have others after it: then a
// message of its own follows.
func (w *Writer) begin(ctx context.Context) (begun, error) {
	for {
		id := w.id
		ack, err := w.js.PublishMsg(ctx, notice{Begin: id}.message(w.subject), jetstream.WithMsgID(id))
		if err != nil {
			return begun{}, err
		}
		w.id = nuid.Next()
		if !ack.Duplicate {
			return begun{ack.Sequence, id}, nil
		}
	}
}

// End says what stands in the tables; nothing is being written then. It does not
// wait for an answer: where none comes, or there is no stream yet, it is said again
// until the next Begin. When another leader has begun it is refused, and readers
// ask ClickHouse until that one's End.
func (w *Writer) End(written event.Marks) {
	if written == nil {
		written = event.Marks{}
	}
	e := &end{cfg: w.cfg, js: w.js, log: w.log, subject: w.subject, begun: w.last, written: written, over: w.over, id: nuid.Next(), closed: w.js.Conn().StatusChanged(nats.CLOSED)}
	if !e.begun.inStream() {
		go e.say(e.repeat)
		return
	}
	// On its way before anything else is: a Begin, or the end of the connection.
	first, err := w.js.PublishMsgAsync(e.message(), e.once())
	go e.say(func() { e.confirm(first, err) })
}
