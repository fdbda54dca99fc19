package seqlock

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// retry is the wait before a watch that ended begins again.
const retry = 500 * time.Millisecond

// Reader finds out whether checkpoints were written. Its methods may be called
// concurrently.
type Reader struct {
	cfg  Config
	conn *nats.Conn
	js   jetstream.JetStream
	log  *slog.Logger
	id   uint64 // distinguishes its questions from those of another reader in its slot

	mu        sync.Mutex
	watching  bool
	away      time.Time                      // no questions are sent before
	parts     map[int]notice                 // the last notice of each partition
	arrived   map[int]*arrivals              // of each partition
	moved     chan struct{}                  // closed at the next End; nil: no one is waiting for it
	written   *event.Written                 // built from parts; nil: not built, or not possible
	questions uint64                         // questions so far
	waiting   map[uint64]chan *event.Written // by the number of the question
	stats     Stats
}

// Stats counts questions by their outcome.
type Stats struct {
	Answered uint64 // nothing is being written
	Writing  uint64 // a projector is writing, or has not written since the stream was created
	Away     uint64 // NATS did not answer in time, or is not queried for a while
}

// NewReader returns a Reader; Run starts it.
func NewReader(cfg Config, conn *nats.Conn, js jetstream.JetStream, log *slog.Logger) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg.withDefaults(), conn: conn, js: js, log: log, id: rand.Uint64(), waiting: map[uint64]chan *event.Written{}}, nil
}

// Stats returns the outcomes of the questions so far.
func (r *Reader) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Written returns what is in the checkpoints as of some moment after the call;
// nil: one is being written, or it is unknown. As long as it returns the same
// pointer, no write has begun.
func (r *Reader) Written(ctx context.Context) *event.Written {
	r.mu.Lock()
	if !r.watching || time.Now().Before(r.away) {
		r.stats.Away++
		r.mu.Unlock()
		return nil
	}
	r.questions++
	n, came := r.questions, make(chan *event.Written, 1)
	r.waiting[n] = came
	r.mu.Unlock()

	late := time.NewTimer(r.cfg.Wait)
	defer late.Stop()
	question := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.id), n)
	err := r.conn.Publish(answerSubject(r.id), question)
	if err == nil {
		select {
		case w := <-came:
			return w
		case <-late.C:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, n)
	r.stats.Away++
	if ctx.Err() == nil {
		r.away = time.Now().Add(10 * r.cfg.Wait)
	}
	return nil
}

// Moved returns a channel that is closed when the next checkpoint has been
// written, or when it is no longer known whether one was; nil: it is not known
// now.
func (r *Reader) Moved() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.watching {
		return nil
	}
	if r.moved == nil {
		r.moved = make(chan struct{})
	}
	return r.moved
}

// wake closes the channel that Moved returned.
func (r *Reader) wake() {
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
}

// Run watches the stream until ctx ends, and begins again when the watch ends.
func (r *Reader) Run(ctx context.Context) error {
	for {
		err := r.watch(ctx)
		r.forget()
		if ctx.Err() != nil {
			return nil
		}
		r.log.WarnContext(ctx, "watch of checkpoints lost, falling back to ClickHouse", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}

// forget resets the reader to knowing nothing, and lets waiting callers know.
func (r *Reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, came := range r.waiting {
		delete(r.waiting, n)
		r.stats.Away++
		came <- nil
	}
	r.watching, r.parts, r.arrived, r.written = false, nil, nil, nil
	r.wake()
}

// watch follows the stream from its first message on, because an End means
// nothing without its Begin, until a message is missing or the consumer is
// gone.
func (r *Reader) watch(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := r.cfg.open(opening, r.js)
	if err != nil {
		return err
	}
	consumer, err := s.CreateConsumer(opening, jetstream.ConsumerConfig{
		Description: "a query node", AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
		FilterSubjects: []string{fmt.Sprintf("checkpoints.written.%d.*", r.cfg.Partitions), answerSubject(r.id)},
		MemoryStorage:  true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	broken := make(chan error, 1)
	end := func(err error) {
		select {
		case broken <- err:
		default:
		}
	}
	r.mu.Lock()
	r.watching, r.parts, r.arrived = true, map[int]notice{}, map[int]*arrivals{}
	r.mu.Unlock()
	next := uint64(1)
	messages, err := consumer.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		if err == nil && meta.Sequence.Consumer != next {
			err = fmt.Errorf("message %d of the consumer came instead of %d", meta.Sequence.Consumer, next)
		}
		next++
		if err == nil {
			err = r.take(m.Subject(), m.Data())
		}
		if err != nil {
			r.forget() // before the next message
			end(err)
		}
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { end(err) }), jetstream.PullHeartbeat(5*time.Second))
	if err != nil {
		return err
	}
	defer func() {
		messages.Stop()
		<-messages.Closed()
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.DeleteConsumer(over, consumer.CachedInfo().Name) // otherwise the server deletes it within a minute
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-broken:
		return err
	}
}

var errMessage = errors.New("no message of this stream")

// take processes a message.
func (r *Reader) take(subject string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.watching {
		return nil
	}
	if strings.HasPrefix(subject, "checkpoints.asked.") {
		if len(data) == 16 && binary.BigEndian.Uint64(data) == r.id {
			r.answer(binary.BigEndian.Uint64(data[8:]))
		}
		return nil
	}
	partition, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil {
		return errMessage
	}
	var n notice
	if err := json.Unmarshal(data, &n); err != nil {
		return errors.Join(errMessage, err)
	}
	if n.Written != nil && (r.parts[partition].Written != nil || r.parts[partition].Begin != n.Begin) {
		n.Written = nil // the End of another Begin, sent again to a stream that was lost meanwhile
	}
	r.parts[partition], r.written = n, nil
	if n.Written != nil {
		if r.arrived[partition] == nil {
			r.arrived[partition] = &arrivals{}
		}
		r.arrived[partition].add(n)
		r.wake()
	}
	return nil
}

// answer passes what is known now to the caller that waits for question n.
func (r *Reader) answer(n uint64) {
	came, ok := r.waiting[n]
	if !ok {
		return
	}
	delete(r.waiting, n)
	if r.written == nil {
		r.written = r.whole()
	}
	if r.written == nil {
		r.stats.Writing++
	} else {
		r.stats.Answered++
	}
	came <- r.written
}

// whole returns what all partitions wrote; nil: one is writing, or is unknown.
func (r *Reader) whole() *event.Written {
	w := &event.Written{Partitions: make([]event.Marks, r.cfg.Partitions)}
	for i := range w.Partitions {
		if w.Partitions[i] = r.parts[i].Written; w.Partitions[i] == nil {
			return nil
		}
	}
	return w
}
