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

// end is an End that is being sent.
type end struct {
	cfg     Config
	js      jetstream.JetStream
	log     *slog.Logger
	subject string
	begun   begun
	written event.Marks
	arrived *event.Arrivals
	over    <-chan struct{}  // closed: it need not arrive any more
	id      string           // of the Begin that it stores if there was no stream
	closed  chan nats.Status // receives when the connection is closed
}

// answerWithin is how long the server has to acknowledge an End. An End that
// was not acknowledged is sent again after shortestPause, and then after twice
// as long each time, up to longestPause.
const (
	answerWithin  = time.Second
	shortestPause = 250 * time.Millisecond
	longestPause  = 5 * time.Second
	// roomWithin is how long an End waits for a stream. After that, readers
	// learn what is in the tables with the next checkpoint.
	roomWithin = 10 * time.Minute
)

func (e *end) message() *nats.Msg {
	m := notice{e.written, e.begun.id, e.arrived}.message(e.subject)
	if e.arrived != nil && len(m.Data) > maxEnd(e.cfg.Partitions) {
		unnamed := event.Arrivals{After: e.arrived.After, Earliest: e.arrived.Earliest, Latest: e.arrived.Latest}
		return notice{e.written, e.begun.id, &unnamed}.message(e.subject)
	}
	return m
}

// once expects the sequence of the Begin, so that the message is stored only
// once.
func (e *end) once() jetstream.PublishOpt {
	return jetstream.WithExpectLastSequencePerSubject(e.begun.sequence)
}

// say runs how, which ends with the connection at the latest.
func (e *end) say(how func()) {
	defer e.js.Conn().RemoveStatusListener(e.closed)
	how()
}

// confirm waits for the acknowledgement of the first message, and sends it
// again unless the stream has it or refuses it.
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
		err := e.resend(ctx)
		cancel()
		if err == nil || refused(err) || !e.begun.inStream() && time.Since(began) > roomWithin {
			return
		}
	}
}

// errOver means that the End need not arrive any more.
var errOver = errors.New("the next checkpoint is begun")

// resend sends the End, and before it the Begin if the stream does not have it.
func (e *end) resend(ctx context.Context) error {
	if !e.begun.inStream() {
		b, err := e.begin(ctx)
		if err != nil {
			return err
		}
		e.begun = b
	}
	select {
	case <-e.over:
		return errOver
	default:
	}
	_, err := e.js.PublishMsg(ctx, e.message(), e.once())
	return err
}

// begin stores the Begin for which there was no stream, unless another message
// came first: from the next Begin, or from another leader.
func (e *end) begin(ctx context.Context) (begun, error) {
	s, err := e.cfg.open(ctx, e.js)
	if err != nil {
		return begun{}, err
	}
	m, err := s.GetLastMsgForSubject(ctx, e.subject)
	switch {
	case err == nil && m.Header.Get(jetstream.MsgIDHeader) == e.id: // its acknowledgement was lost
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

// refused reports whether an error is final: another message is where this one
// should be, possibly this one itself. That another message is on its way to
// the other servers of a cluster (JSErrCodeStreamWrongLastSequenceConstant) is
// not final: it may be lost with its leader.
func refused(err error) bool {
	if errors.Is(err, errOver) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
