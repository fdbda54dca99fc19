package seqlock

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// Writer tells of the writes of one partition, for one term of its leader. Its
// methods are called one after another.
type Writer struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	begun   uint64 // the sequence of the last Begin
	alone   bool   // the stream is not there, so that nobody can ask
}

// NewWriter makes a Writer. It asks the server nothing before its first call.
func NewWriter(cfg Config, js jetstream.JetStream, partition int, log *slog.Logger) (*Writer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Writer{cfg: cfg.withDefaults(), js: js, log: log, subject: writtenSubject(partition, cfg.Partitions)}, nil
}

// Begin returns when every reader that asks from now on will know that the
// checkpoints are being written. After an error nothing may be written. Where NATS
// has no room for the stream, there is nobody to tell.
func (w *Writer) Begin(ctx context.Context) error {
	ack, err := w.js.PublishMsg(ctx, w.message(nil))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		if _, err = w.cfg.open(ctx, w.js); noRoom(err) {
			if !w.alone {
				w.log.Warn("NATS has no memory for the stream "+Stream+": query nodes ask ClickHouse at each request", "bytes", room, "error", err)
			}
			w.alone = true
			return nil
		} else if err == nil {
			ack, err = w.js.PublishMsg(ctx, w.message(nil))
		}
	}
	if err != nil {
		return err
	}
	w.begun, w.alone = ack.Sequence, false
	return nil
}

// End says what stands in the tables; nothing is being written then. It does not
// wait for an answer. When the message is lost, or another leader has begun, readers ask
// ClickHouse until the next End.
func (w *Writer) End(written event.Marks) {
	if w.alone {
		return
	}
	if written == nil {
		written = event.Marks{}
	}
	msg := w.message(written)
	msg.Header = nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(w.begun, 10)}}
	if err := w.js.Conn().PublishMsg(msg); err != nil {
		w.log.Warn("readers are not told that a checkpoint is written, and ask ClickHouse until the next one", "error", err)
	}
}

func (w *Writer) message(written event.Marks) *nats.Msg {
	body, err := json.Marshal(notice{written})
	if err != nil { // numbers by name
		panic(err)
	}
	return &nats.Msg{Subject: w.subject, Data: body}
}
