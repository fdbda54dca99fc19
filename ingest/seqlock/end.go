package seqlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// end is an End on its way.
type end struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	begun   begun
	written event.Marks
	over    <-chan struct{}  // closed: it need not arrive any more
	id      string           // of the Begin that it stores where there was no stream
	closed  chan nats.Status // the connection is
}

// answerWithin is how long the server has to acknowledge an End. An End that was
// not acknowledged is sent again after shortestPause, and then after twice as long
// each time, up to longestPause.
const (
	answerWithin  = time.Second
	shortestPause = 250 * time.Millisecond
	longestPause  = 5 * time.Second
	// roomWithin is how long an End waits for a stream. Later the next checkpoint says
	// what stands there.
	roomWithin = 10 * time.Minute
)

func (e *end) message() *nats.Msg { return notice{e.written, e.begun.id}.message(e.subject) }

// once expects the sequence of the Begin, so that the message is stored once.
func (e *end) once() jetstream.PublishOpt {
	return jetstream.WithExpectLastSequencePerSubject(e.begun.sequence)
}

// say ends with the connection at the latest.
func (e *end) say(how func()) {
	defer e.js.Conn().RemoveStatusListener(e.closed)
	how()
}

// confirm waits for the answer to the first message, and sends others where it is
// not that the stream has it or refuses it.
func (e *end) confirm(first jetstream.PubAckFuture, err error) {
	if err == nil {
		select {
		case <-first.Ok():
			return
		case err = <-first.Err():
		case <-e.closed:
			return
		case <-time.After(answerWithin):
			err = jetstream.ErrAsyncPublishTimeout
		}
	}
	if refused(err) {
		return
	}
	e.log.Warn("readers are not told that a checkpoint is written, and ask ClickHouse meanwhile", "error", err)
	e.repeat()
}

// repeat sends the End until the stream has it or refuses it.
func (e *end) repeat() {
	began := time.Now()
	for pause := shortestPause; !e.js.Conn().IsClosed(); pause = min(2*pause, longestPause) {
		select {
		case <-e.over:
			return
		case <-e.closed:
			return
		case <-time.After(pause):
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		err := e.again(ctx)
		cancel()
		if err == nil || refused(err) || !e.begun.inStream() && time.Since(began) > roomWithin {
			return
		}
	}
}

// errOver says that the End need not arrive any more.
var errOver = errors.New("the next checkpoint is begun")

// again sends the End, and before it the Begin that the stream has not.
func (e *end) again(ctx context.Context) error {
	if !e.begun.inStream() {
		b, err := e.begin(ctx)
		if err != nil {
			return err
		}
		e.begun = b
	}
	if e.isOver() {
		return errOver
	}
	_, err := e.js.PublishMsg(ctx, e.message(), e.once())
	return err
}

// begin stores the Begin for which there was no stream, unless another message came
// before it: of the next Begin, or of another leader.
func (e *end) begin(ctx context.Context) (begun, error) {
	s, err := e.cfg.open(ctx, e.js)
	if err != nil {
		return begun{}, err
	}
	m, err := s.GetLastMsgForSubject(ctx, e.subject)
	switch {
	case err == nil && m.Header.Get(jetstream.MsgIDHeader) == e.id: // its answer was lost
		return begun{m.Sequence, e.id}, nil
	case err == nil:
		return begun{}, errOver
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return begun{}, err
	}
	ack, err := e.js.PublishMsg(ctx, notice{Begin: e.id}.message(e.subject), jetstream.WithMsgID(e.id), jetstream.WithExpectLastSequencePerSubject(0))
	if err != nil {
		return begun{}, err
	}
	return begun{ack.Sequence, e.id}, nil
}

func (e *end) isOver() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// refused tells whether an answer is the last word: another message stands where
// this one should, which may be this one itself. That one is on its way to the
// others of a cluster (JSErrCodeStreamWrongLastSequenceConstant) is not: it may be
// lost with its leader.
func refused(err error) bool {
	if errors.Is(err, errOver) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
