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

// Writer announces the writes of one partition, for one term of its leader. Its
// methods must not be called concurrently.
type Writer struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	id      string // of the message of the next Begin: an attempt that was given up may still arrive, and is stored only once
	last    begun
	over    chan struct{} // closed: the last End is not sent again any more
	noRoom  bool          // there was no room for the stream, which was logged
}

// begun is a Begin in the stream. The zero value: there was no stream, so no
// reader could send a question.
type begun struct {
	sequence uint64
	id       string
}

func (b begun) inStream() bool { return b != begun{} }

// NewWriter returns a Writer. It sends the server nothing before its first
// call.
func NewWriter(cfg Config, js jetstream.JetStream, partition int, log *slog.Logger) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Writer{cfg: cfg.withDefaults(), js: js, log: log, subject: writtenSubject(partition, cfg.Partitions), id: nuid.Next(), over: make(chan struct{})}, nil
}

// Begin returns when every reader that sends a question from now on will know
// that the checkpoints are being written. After an error nothing may be
// written. If NATS has no room for the stream, or not yet, there is no one to
// notify.
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

// begin stores the message that a checkpoint is being written. An earlier
// attempt may have been stored although its acknowledgement was lost, and other
// messages may have followed it: in that case begin stores one with an id of
// its own.
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

// End announces what is in the tables, and what the checkpoint of the
// observations made visible since the last End; nil: nothing, or it is not
// known. Nothing is being written then. It does
// not wait for an acknowledgement: if there is none, or there is no stream yet,
// the message is sent again until the next Begin. When another leader has begun
// it is refused, and readers query ClickHouse until that leader's End.
func (w *Writer) End(written event.Marks, arrived *event.Arrivals) {
	if written == nil {
		written = event.Marks{}
	}
	e := &end{cfg: w.cfg, js: w.js, log: w.log, subject: w.subject, begun: w.last, written: written, arrived: arrived, over: w.over, id: nuid.Next(), closed: w.js.Conn().StatusChanged(nats.CLOSED)}
	if !e.begun.inStream() {
		go e.say(e.repeat)
		return
	}
	// Sent before anything that may follow: a Begin, or the end of the
	// connection.
	first, err := w.js.PublishMsgAsync(e.message(), e.once())
	go e.say(func() { e.confirm(first, err) })
}
