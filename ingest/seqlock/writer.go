package seqlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"preismon/contracts/event"
	"preismon/ingest"
)

// Writer tells of the writes of one partition, for one term of its leader. Its
// methods are called one after another.
type Writer struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	id      string        // of the message of the next Begin: an attempt that was given up may still arrive, and is stored once
	begun   uint64        // the sequence of the last Begin
	over    chan struct{} // closed: the last End is not repeated any more
	alone   bool          // the stream is not there, so that nobody can ask
}

// NewWriter makes a Writer. It asks the server nothing before its first call.
func NewWriter(cfg Config, js jetstream.JetStream, partition int, log *slog.Logger) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Writer{cfg: cfg.withDefaults(), js: js, log: log, subject: writtenSubject(partition, cfg.Partitions), id: nuid.Next(), over: make(chan struct{})}, nil
}

// Begin returns when every reader that asks from now on will know that the
// checkpoints are being written. After an error nothing may be written. Where NATS
// has no room for the stream, there is nobody to tell.
func (w *Writer) Begin(ctx context.Context) error {
	close(w.over)
	w.over = make(chan struct{})
	ack, err := w.begin(ctx)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		if _, err = w.cfg.open(ctx, w.js); noRoom(err) {
			if !w.alone {
				w.log.Warn("NATS has no memory for the stream "+Stream+": query nodes ask ClickHouse at each request", "bytes", room, "error", err)
			}
			w.alone = true
			return nil
		} else if err == nil {
			ack, err = w.begin(ctx)
		}
	}
	if err != nil {
		return err
	}
	w.begun, w.alone = ack.Sequence, false
	return nil
}

// begin stores the message that a checkpoint is being written. An earlier attempt
// that was stored although nobody heard of it may have others after it: then a
// message of its own follows.
func (w *Writer) begin(ctx context.Context) (*jetstream.PubAck, error) {
	for {
		ack, err := w.js.PublishMsg(ctx, notice{}.message(w.subject), jetstream.WithMsgID(w.id))
		if err != nil {
			return nil, err
		}
		w.id = nuid.Next()
		if !ack.Duplicate {
			return ack, nil
		}
	}
}

// End says what stands in the tables; nothing is being written then. It does not
// wait for an answer: where none comes, the message is sent again until the next
// Begin. When another leader has begun it is refused, and readers ask ClickHouse
// until that one's End.
func (w *Writer) End(written event.Marks) {
	if w.alone {
		return
	}
	if written == nil {
		written = event.Marks{}
	}
	n := notice{written}
	e := end{js: w.js, log: w.log, subject: w.subject, begun: w.begun, over: w.over}
	// On its way before anything else is: a Begin, or the end of the connection.
	first, err := w.js.PublishMsgAsync(n.message(w.subject), e.once())
	go e.confirm(n, first, err)
}

// end is the message of an End on its way.
type end struct {
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	begun   uint64
	over    <-chan struct{} // closed: it need not arrive any more
}

// answerWithin is how long the server has to acknowledge an End.
const answerWithin = time.Second

// once expects the sequence of the Begin, so that the message is stored once.
func (e end) once() jetstream.PublishOpt { return jetstream.WithExpectLastSequencePerSubject(e.begun) }

// confirm waits for the answer to the first message, and sends others until the
// stream has one or refuses it.
func (e end) confirm(n notice, first jetstream.PubAckFuture, err error) {
	if err == nil {
		select {
		case <-first.Ok():
			return
		case err = <-first.Err():
		case <-time.After(answerWithin):
			err = jetstream.ErrAsyncPublishTimeout
		}
	}
	for tries := 0; err != nil && !ingest.WrongLastSequence(err) && !e.js.Conn().IsClosed(); tries++ {
		if tries == 0 {
			e.log.Warn("readers are not told that a checkpoint is written, and ask ClickHouse meanwhile", "error", err)
		}
		select {
		case <-e.over:
			return
		case <-time.After(answerWithin / 4):
		}
		select {
		case <-e.over:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		_, err = e.js.PublishMsg(ctx, n.message(e.subject), e.once())
		cancel()
	}
}
