package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"
)

// open positions the durable consumer after what the sink has and reads until
// something goes wrong.
func (f *feed) open(ctx context.Context) error {
	l := f.loop
	ctx, cancel := context.WithCancelCause(ctx)

	// Any reconnect ends the session: deliveries under way at that moment are
	// lost, and would not be repeated until after AckWait.
	status := l.js.Conn().StatusChanged(nats.CONNECTED, nats.CLOSED)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		defer l.js.Conn().RemoveStatusListener(status)
		select {
		case <-status:
			cancel(errReconnected)
		case <-ctx.Done():
		}
	})
	defer cancel(nil)
	defer l.count(func(*Progress) { f.reopen = nil })

	queriedAt := time.Now()
	s, err := l.js.Stream(ctx, f.stream)
	if err != nil {
		return err
	}
	info, applied, err := f.position(ctx, s)
	if err != nil {
		return err
	}
	consumer, waiting, err := f.durable(ctx, s, applied+1)
	if err != nil {
		return err
	}
	epoch := incarnation(info).Epoch
	l.count(func(*Progress) {
		f.reopen = cancel
		f.came.Store(applied)
		f.begin(info, queriedAt) // creating the consumer may have taken some time since
	})
	if waiting == 0 { // the server that reports this may be late
		f.close(ctx, s)
	}
	l.log.Info("stream open", "stream", f.stream, "epoch", epoch, "applied", applied, "waiting", waiting)

	r := &reading{
		feed: f, stream: s, epoch: epoch, seen: applied, cancel: cancel,
		arrived: make(chan jetstream.Msg, 16), chunks: make(chan *chunk, 2*cap(l.decoders)), ahead: semaphore.NewWeighted(aheadBytes),
	}
	// A request must have room for the largest message, or it waits for ever.
	limit := max(l.c.MaxBytes/2, 2*int(l.js.Conn().MaxPayload()))
	delivered := expect(waiting, cancel)
	defer delivered()
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		delivered()
		select {
		case r.arrived <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(pullMessages, limit),
		jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { cancel(err) }))
	if err != nil {
		return err
	}
	defer func() {
		cancel(nil)
		consuming.Stop()
		<-consuming.Closed()
	}()

	wg.Go(func() { r.receive(ctx) })
	wg.Go(func() { r.cut(ctx, applied+1) })
	<-ctx.Done()
	return context.Cause(ctx)
}

// Why a stream is opened again.
var (
	errGap         = errors.New("a delivery is missing: another process reads the same consumer, or a connection broke")
	errNothing     = errors.New("messages wait and none is delivered: another process reads the same consumer")
	errReconnected = errors.New("the connection was lost and came back")
	errNewEpoch    = errors.New("another partition found that the stream lost its tail, and began a new epoch")
)

// firstWait is how long the first pending message may take to arrive. A leader
// that was deposed may have requested messages shortly before, and gets them:
// they would not be delivered again until after AckWait.
const firstWait = 5 * time.Second

// expect ends the session if messages are pending and delivered is not called
// in time. For a stream with none pending, nothing is expected, however long it
// takes.
func expect(waiting uint64, cancel context.CancelCauseFunc) (delivered func()) {
	if waiting == 0 {
		return func() {}
	}
	first := time.AfterFunc(firstWait, func() { cancel(errNothing) })
	return func() { first.Stop() }
}

// begin records what the stream's leader reported when queried at that time:
// the reply does not cover what came later.
func (f *feed) begin(info *jetstream.StreamInfo, queriedAt time.Time) {
	state := info.State
	if settled(info) && queriedAt.After(f.at.Heard) {
		f.at.Heard = queriedAt
		// A stream that lost its tail ends before what was known: what it no
		// longer has is not waited for.
		f.at.Last = min(f.at.Last, max(state.LastSeq, f.came.Load()))
		if f.goal == nil || state.LastSeq < *f.goal {
			f.goal = &state.LastSeq
		}
	}
	if state.LastSeq >= f.at.Last { // otherwise the server that reports it is late
		f.at.Messages, f.at.Bytes = state.Msgs, state.Bytes
	}
	f.ends(state.LastSeq)
}

// close advances what is applied to the stream's end if there are no messages
// of ours in between: they were deleted, or have other subjects.
func (f *feed) close(ctx context.Context, s jetstream.Stream) {
	l := f.loop
	l.mu.Lock()
	from, to, epoch, idle := f.at.Applied, f.at.Last, f.at.Epoch, f.came.Load() == f.taken
	l.mu.Unlock()
	if !idle || from >= to {
		return
	}
	through, _, err := absent(ctx, s, f.subject, from+1, to)
	if err != nil {
		l.log.Debug("asking for the stream's end failed", "stream", f.stream, "error", err)
	}
	l.count(func(*Progress) {
		if f.at.Epoch == epoch && f.at.Applied == from && through > from {
			f.at.Applied = through
			f.ends(0)
		}
	})
}

// position determines the stream's epoch and the last sequence that the sink
// has.
func (f *feed) position(ctx context.Context, s jetstream.Stream) (*jetstream.StreamInfo, uint64, error) {
	l, info := f.loop, s.CachedInfo()
	in := incarnation(info)
	l.mu.Lock()
	known, applied, witness := f.at.Epoch, f.taken, f.witness
	l.mu.Unlock()
	if known != in.Epoch {
		var err error
		if applied, err = l.resume(ctx, f.stream, in); err != nil {
			return nil, 0, fmt.Errorf("asking the sink where to resume: %w", err)
		}
		// Until then another leader may have applied what came meanwhile.
		queriedAt := time.Now()
		if info, err = s.Info(ctx); err != nil {
			return nil, 0, err
		}
		if incarnation(info).Epoch != in.Epoch {
			return nil, 0, errNewEpoch
		}
		witness = position{}
		l.count(func(*Progress) {
			f.taken, f.witness, f.goal = applied, witness, nil
			*f.at = StreamProgress{Epoch: in.Epoch, Applied: applied, Stored: f.at.Stored}
			f.begin(info, queriedAt)
		})
	}
	last, forked, err := f.fork(ctx, s, in, applied, witness)
	if err != nil {
		return nil, 0, fmt.Errorf("comparing the stream with what was applied: %w", err)
	}
	if forked {
		// All partitions find out at the same time. One mark is enough: a
		// partition that had applied less of the old epoch continues from
		// there.
		if info, err = s.Info(ctx); err != nil {
			return nil, 0, err
		}
		if incarnation(info).Epoch != in.Epoch {
			return nil, 0, errNewEpoch
		}
		if err := beginEpoch(ctx, l.js, info, last, time.Now()); err != nil {
			return nil, 0, fmt.Errorf("beginning a new epoch: %w", err)
		}
		return nil, 0, fmt.Errorf("the stream was truncated, and holds what was read from it only up to %d: a new epoch begins", last)
	}
	return info, applied, nil
}

// durable creates or updates the durable consumer and positions it before seq.
// It returns how many messages are pending there.
func (f *feed) durable(ctx context.Context, s jetstream.Stream, seq uint64) (jetstream.Consumer, uint64, error) {
	c := f.loop.c
	config := jetstream.ConsumerConfig{
		Durable: c.Name, FilterSubject: f.subject, AckPolicy: jetstream.AckAllPolicy,
		AckWait: c.AckWait, MaxDeliver: -1, DeliverPolicy: jetstream.DeliverAllPolicy,
		// In the sink, being filled, at the workers, and on the way.
		MaxAckPending: (maxUnderWay+1)*c.reach() + 4*cap(f.loop.decoders)*chunkMessages + 2*pullMessages,
		Description:   "drives the sink of " + c.Name,
		Metadata:      map[string]string{metaPartitions: strconv.Itoa(c.Partitions)},
	}
	if !f.recreate {
		consumer, err := s.CreateOrUpdateConsumer(ctx, config)
		if err == nil {
			var reset *jetstream.ConsumerResetResponse
			if reset, err = s.ResetConsumerToSequence(ctx, c.Name, seq); err == nil {
				return consumer, reset.NumPending, nil
			}
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) && !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, jetstream.ErrConsumerResetResponseEmpty) {
			return nil, 0, err
		}
	}
	// A server that cannot reset (before 2.14), a consumer of another kind, or
	// one that another process still pulls from.
	if err := s.DeleteConsumer(ctx, c.Name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, 0, err
	}
	config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, seq
	consumer, err := s.CreateConsumer(ctx, config)
	if err != nil {
		return nil, 0, err
	}
	return consumer, consumer.CachedInfo().NumPending, nil
}

// metaPartitions is the metadata key under which the durable consumers of
// projectors record the number of partitions, for callers that wait for all of
// them.
const metaPartitions = "preismon-partitions"

// pullMessages is how many messages are requested from the server at once.
const pullMessages = 4096
