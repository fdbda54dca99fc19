package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/event"
)

// feed reads one stream: it pulls, decodes side by side, cuts batches in
// order and offers them: on full when they can hold no more, on out when they
// waited long enough. One can be filled while others are in the sink; nothing
// more is held but a few chunks on the way.
type feed struct {
	loop    *Consumer
	stream  string
	subject string
	at      *StreamProgress // under loop.mu
	out     chan *cut
	full    chan *cut

	completed chan struct{} // closed once everything there was at the start is applied
	once      sync.Once
	goal      *uint64 // what there was at the start; nil: not known yet. Under loop.mu
	last      *cut    // handed out last

	taken   uint64        // the last sequence that the sink has; at.Applied may be beyond it, where nothing follows. Under loop.mu
	came    atomic.Uint64 // the last sequence that came to this session
	witness place         // the message applied last. Under loop.mu
	anew    bool          // the durable consumer is to be made anew: who else asks it must hear that it is gone
	reopen  func(error)   // ends the session under way; nil: there is none. Under loop.mu
}

// place is where a message stands, and when it came there.
type place struct {
	seq    uint64
	stored time.Time
}

func newFeed(l *Consumer, stream, subject string, at *StreamProgress) *feed {
	f := &feed{loop: l, stream: stream, subject: subject, at: at, out: make(chan *cut), completed: make(chan struct{})}
	f.full = f.out
	if stream == event.StreamObservations {
		f.full = make(chan *cut)
	}
	return f
}

func (f *feed) complete() bool {
	select {
	case <-f.completed:
		return true
	default:
		return false
	}
}

// cut is a batch on its way, with what it takes to acknowledge it.
type cut struct {
	event.Batch
	feed        *feed
	session     context.Context // ends when the server's view may have changed
	acker       jetstream.Msg
	over        chan struct{} // closed when the loop is done with it
	rows, bytes int
	messages    int                 // that it answers for, read or not
	passed      int                 // of them: of other partitions
	stored      time.Time           // of its last message
	publishers  []trace.SpanContext // of its messages, at most maxLinks
}

// applied records that the sink has the batch.
func (f *feed) applied(b *cut) {
	f.loop.count(func(p *Progress) {
		f.taken, f.at.Applied, f.at.Stored = b.Last, b.Last, b.stored
		f.witness = place{b.Last, b.stored}
		f.ends(b.Last + b.Pending) // there may be more: who counted it may be late
		p.Batches++
		p.Events += uint64(len(b.Messages))
		p.Passed += uint64(b.passed)
		if f.stream == event.StreamObservations {
			p.Rows += uint64(b.rows)
		}
	})
}

// ends takes in that the stream goes as far as that, at least, and what follows
// from how far the sink is. It may be told of less, by who is late.
func (f *feed) ends(last uint64) {
	if last > f.at.Last {
		f.at.Messages += last - f.at.Last
		f.at.Last = last
	}
	f.at.Lag = min(f.at.Last-min(f.at.Last, f.at.Applied), f.at.Messages)
	if f.goal != nil && f.at.Applied >= *f.goal {
		f.once.Do(func() { close(f.completed) })
	}
}

// acknowledge tells the server. That may fail: where to resume is the sink's
// knowledge, and what comes again is dropped.
func (b *cut) acknowledge(ctx context.Context) {
	if b.session.Err() != nil && ctx.Err() == nil || !b.feed.loop.js.Conn().IsConnected() {
		return
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	defer context.AfterFunc(b.session, func() {
		if ctx.Err() == nil { // the connection broke; an answer will not come
			cancel()
		}
	})()
	if err := b.acker.DoubleAck(inner); err != nil {
		b.feed.loop.log.Debug("acknowledging failed", "stream", b.Stream, "last", b.Last, "error", err)
	}
}

// run opens the stream again and again until ctx ends.
func (f *feed) run(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		started := time.Now()
		err := f.open(ctx)
		f.anew = errors.Is(err, errNothing) || errors.Is(err, errPassedOver)
		if ends(err) {
			f.loop.stop(err)
		}
		if ctx.Err() != nil {
			return
		}
		if f.last != nil { // the sink may still have a batch
			select {
			case <-f.last.over:
				f.last = nil
			case <-ctx.Done():
				return
			}
		}
		if time.Since(started) > f.loop.c.MaxBackoff {
			try = 1
		}
		f.loop.count(func(p *Progress) { p.Restarts++ })
		f.loop.log.Warn("opening the stream again", "stream", f.stream, "try", try, "error", err)
		if !sleep(ctx, backoff(try, f.loop.c.MaxBackoff)) {
			return
		}
	}
}

// firstWait is how long the first of the messages that wait may take. A leader
// that was deposed may have asked for them shortly before, and gets them: they
// would come again after AckWait only.
const firstWait = 5 * time.Second

// expect ends the session when messages wait and delivered is not called in
// time. Of a stream where none wait, nothing is expected, however long.
func expect(waiting uint64, cancel context.CancelCauseFunc) (delivered func()) {
	if waiting == 0 {
		return func() {}
	}
	first := time.AfterFunc(firstWait, func() { cancel(errNothing) })
	return func() { first.Stop() }
}

// Why a stream is opened again.
var (
	errGap         = errors.New("a delivery is missing: another process reads the same consumer, or a connection broke")
	errNothing     = errors.New("messages wait and none is delivered: another process reads the same consumer")
	errReconnected = errors.New("the connection was lost and came back")
	errNewEpoch    = errors.New("another partition found that the stream lost its tail, and began a new epoch")
)

// open positions the durable consumer behind what the sink has and reads
// until something is wrong.
func (f *feed) open(ctx context.Context) error {
	l := f.loop
	ctx, cancel := context.WithCancelCause(ctx)

	// Any reconnect ends the session: deliveries under way then are lost, and
	// would come again after AckWait only.
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
		f.begin(info)
	})
	if waiting == 0 { // that says who may be late
		f.close(ctx, s)
	}
	l.log.Info("stream open", "stream", f.stream, "epoch", epoch, "applied", applied, "waiting", waiting)

	r := &reading{
		feed: f, stream: s, epoch: epoch, seen: applied, cancel: cancel,
		arrived: make(chan jetstream.Msg, 16), chunks: make(chan *chunk, 2*l.c.Workers),
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

// begin takes in what the stream's leader says of it.
func (f *feed) begin(info *jetstream.StreamInfo) {
	state := info.State
	if state.LastSeq >= f.at.Last { // else who says it is late
		f.at.Messages, f.at.Bytes = state.Msgs, state.Bytes
	}
	if settled(info) {
		f.at.Heard = time.Now()
		if f.goal == nil {
			f.goal = &state.LastSeq
		}
	}
	f.ends(state.LastSeq)
}

// close moves what is applied to the stream's end when nothing of ours is
// there: it was deleted, or is of other subjects.
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

// position finds the stream's epoch and the last sequence that the sink has.
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
		if info, err = s.Info(ctx); err != nil {
			return nil, 0, err
		}
		if incarnation(info).Epoch != in.Epoch {
			return nil, 0, errNewEpoch
		}
		witness = place{}
		l.count(func(*Progress) {
			f.taken, f.witness = applied, witness
			*f.at = StreamProgress{Epoch: in.Epoch, Applied: applied, Stored: f.at.Stored}
			f.begin(info)
		})
	}
	last, forked, err := f.fork(ctx, s, in, applied, witness)
	if err != nil {
		return nil, 0, fmt.Errorf("comparing the stream with what was applied: %w", err)
	}
	if forked {
		// Every partition finds out at the same time. One mark is enough: who had
		// less of the old epoch goes on from there.
		if info, err = s.Info(ctx); err != nil {
			return nil, 0, err
		}
		if incarnation(info).Epoch != in.Epoch {
			return nil, 0, errNewEpoch
		}
		if err := beginEpoch(ctx, l.js, info, last, time.Now()); err != nil {
			return nil, 0, fmt.Errorf("beginning a new epoch: %w", err)
		}
		return nil, 0, fmt.Errorf("up to %d only the stream has what was taken from it: it lost its tail, and begins a new epoch", last)
	}
	return info, applied, nil
}

// durable creates or updates the durable consumer and puts it before seq. It
// tells how many messages wait there.
func (f *feed) durable(ctx context.Context, s jetstream.Stream, seq uint64) (jetstream.Consumer, uint64, error) {
	c := f.loop.c
	config := jetstream.ConsumerConfig{
		Durable: c.Name, FilterSubject: f.subject, AckPolicy: jetstream.AckAllPolicy,
		AckWait: c.AckWait, MaxDeliver: -1, DeliverPolicy: jetstream.DeliverAllPolicy,
		// In the sink, being filled, at the workers, and on the way.
		MaxAckPending: (maxUnderWay+1)*c.reach() + 4*c.Workers*chunkMessages + 2*pullMessages,
		Description:   "drives the sink of " + c.Name,
		Metadata:      map[string]string{metaPartitions: strconv.Itoa(c.Partitions)},
	}
	if !f.anew {
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
	// A server that cannot reset (before 2.14), a consumer of another make, or
	// one that another process still asks.
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

// metaPartitions is the metadata of the durable consumers of projectors that
// tells how many partitions theirs is one of, for those who wait for all.
const metaPartitions = "preismon-partitions"

// look refreshes the stream's end and the lag.
func (f *feed) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := f.loop.js.Stream(ctx, f.stream)
	if err != nil {
		return // whoever reads it finds out
	}
	info := s.CachedInfo()
	epoch := incarnation(info).Epoch
	var open bool
	f.loop.count(func(*Progress) {
		if f.at.Epoch == 0 {
			return
		}
		if epoch != f.at.Epoch {
			if f.reopen != nil {
				f.reopen(errNewEpoch)
			}
			return
		}
		f.begin(info)
		open = f.reopen != nil
	})
	if open {
		f.close(ctx, s)
	}
}

// reading is one session's way from the connection to the batches.
type reading struct {
	feed    *feed
	stream  jetstream.Stream
	epoch   uint32
	seen    uint64 // highest sequence received
	cancel  context.CancelCauseFunc
	arrived chan jetstream.Msg
	chunks  chan *chunk
}

// arrival is one message with what decoding it gave.
type arrival struct {
	msg     jetstream.Msg
	seq     uint64
	stored  time.Time
	pending uint64
	passed  bool // of another partition: it is not read
	rows    int
	event   *event.Event
	err     error

	publisher trace.SpanContext
}

// chunk is a few messages that one worker decodes.
type chunk struct {
	list  []arrival
	gaps  []gap // before and between them
	bytes int
	err   error // why the gaps are none
	ready chan struct{}
}

// pullMessages is how many messages are asked of the server at once.
const pullMessages = 4096

// Sizes of a chunk: little enough to spread a backlog over the workers.
const (
	chunkMessages = 64
	chunkBytes    = 128 << 10
)

// receive checks the order of what arrives and spreads it over the workers.
func (r *reading) receive(ctx context.Context) {
	l := r.feed.loop
	var (
		c         *chunk
		delivered uint64
		stall     = time.NewTimer(time.Hour)
		wg        sync.WaitGroup
	)
	defer wg.Wait()
	defer stall.Stop()
	flush := func() bool {
		if c == nil {
			return true
		}
		full := c
		c = nil
		select {
		case r.chunks <- full:
		case <-ctx.Done():
			return false
		}
		select {
		case l.decoders <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		wg.Go(func() {
			defer func() { close(full.ready); <-l.decoders }()
			full.err = prove(ctx, r.stream, r.feed.subject, full.gaps)
			full.decode(r.feed.stream)
			if l.c.Tracer != nil {
				full.findPublishers()
			}
		})
		return true
	}
	for {
		var m jetstream.Msg
		select {
		case m = <-r.arrived:
		case <-stall.C:
			if !flush() {
				return
			}
			continue
		case <-ctx.Done():
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			r.cancel(err)
			return
		}
		// The consumer counts its deliveries from 1 since it was put in place.
		// A number that is missing went elsewhere, with its message.
		if delivered++; meta.Sequence.Consumer != delivered {
			r.cancel(errGap)
			return
		}
		if meta.Sequence.Stream <= r.seen {
			done := false
			l.count(func(p *Progress) {
				p.Redelivered++
				done = meta.Sequence.Stream <= r.feed.taken
			})
			if done {
				_ = m.Ack() // the acknowledgement was lost; if this one is too, it comes again
			}
			continue
		}
		if c == nil {
			c = &chunk{ready: make(chan struct{})}
			stall.Reset(20 * time.Millisecond)
		}
		if meta.Sequence.Stream > r.seen+1 {
			c.gaps = append(c.gaps, gap{r.seen + 1, meta.Sequence.Stream - 1})
		}
		r.seen = meta.Sequence.Stream
		r.feed.came.Store(r.seen)
		a := arrival{msg: m, seq: meta.Sequence.Stream, stored: meta.Timestamp, pending: meta.NumPending}
		a.passed = r.feed.stream == event.StreamObservations && !l.c.owns(m.Subject())
		c.list = append(c.list, a)
		c.bytes += len(m.Data()) // also of those that are passed over: they are held until the chunk is cut
		if meta.NumPending == 0 || len(c.list) >= chunkMessages || c.bytes >= chunkBytes {
			if !flush() {
				return
			}
		}
	}
}

// decode reads the chunk's messages.
func (c *chunk) decode(stream string) {
	for i := range c.list {
		a := &c.list[i]
		if a.passed {
			continue
		}
		a.event, a.err = decode(stream, a.msg.Subject(), a.msg.Data())
		a.rows = 1
		if a.err != nil {
			a.rows = 0
			continue
		}
		if batch, ok := a.event.Data.(*contracts.Observations); ok {
			a.rows = 0
			for j := range batch.Observations {
				a.rows += batch.Observations[j].Rows()
			}
		}
	}
}

// findPublishers reads the trace contexts of the chunk's messages.
func (c *chunk) findPublishers() {
	for i := range c.list {
		if a := &c.list[i]; !a.passed {
			a.publisher = publisherOf(a.msg.Headers())
		}
	}
}

// decode reads an event and checks that it belongs where it was found.
func decode(stream, subject string, data []byte) (*event.Event, error) {
	e, err := event.Decode(data)
	switch {
	case err != nil:
		return nil, err
	case e.Kind.Stream() != stream:
		return nil, fmt.Errorf("kind: %s does not belong into %s", e.Kind, stream)
	case e.Subject() != subject:
		return nil, fmt.Errorf("subject: %s, but the event belongs to %s", subject, e.Subject())
	}
	return e, nil
}

// cut makes batches of the chunks, in order, and offers them.
func (r *reading) cut(ctx context.Context, next uint64) {
	l := r.feed.loop
	var (
		b      *cut
		linger = time.NewTimer(time.Hour)
		waited bool
	)
	defer linger.Stop()
	hand := func() bool {
		select {
		case r.feed.full <- b:
			r.feed.last = b
			b = nil
			return true
		case <-ctx.Done():
			return false
		}
	}
	for {
		var out chan *cut
		if b != nil && waited {
			out = r.feed.out
		}
		var c *chunk
		select {
		case c = <-r.chunks:
		case out <- b:
			r.feed.last = b
			b = nil
			continue
		case <-linger.C:
			waited = true
			continue
		case <-ctx.Done():
			return
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return
		}
		if c.err != nil {
			r.cancel(c.err)
			return
		}
		for i := range c.list {
			a := &c.list[i]
			size := len(a.msg.Data())
			if a.passed {
				size = 0 // it is not kept
			}
			// What is of CATALOG every partition buries that cannot read it: of a newer
			// form it may be, which others can. It is one letter, by its id.
			if a.err != nil && !l.c.SkipPoison && !l.bury(ctx, letter{r.feed.stream, r.epoch, a.seq, a.msg.Subject(), a.msg.Data(), a.err}) {
				return
			}
			if b != nil && (b.rows+a.rows > l.c.MaxRows || b.bytes+size > l.c.MaxBytes || r.full(b)) && !hand() {
				return
			}
			if b == nil {
				b = &cut{Batch: event.Batch{Stream: r.feed.stream, Epoch: r.epoch, First: next}, feed: r.feed, session: ctx, over: make(chan struct{})}
				waited = false
				linger.Reset(l.c.PassLinger)
			}
			if !a.passed && b.passed == b.messages { // the first of ours
				waited = false
				linger.Reset(l.c.Linger)
			}
			b.Last, b.Pending, b.acker, b.stored = a.seq, a.pending, a.msg, a.stored
			b.messages++
			if a.passed {
				b.passed++
			}
			if a.publisher.IsValid() && len(b.publishers) < maxLinks {
				b.publishers = append(b.publishers, a.publisher)
			}
			b.rows += a.rows
			b.bytes += size
			if a.event != nil {
				b.Messages = append(b.Messages, event.Message{Seq: a.seq, Stored: a.stored, Event: a.event})
			}
			next = a.seq + 1
		}
		if b != nil && (b.rows >= l.c.MaxRows || b.bytes >= l.c.MaxBytes || r.full(b)) && !hand() {
			return
		}
	}
}

// full tells whether the batch has as many messages as it may, of ours or in
// all.
func (r *reading) full(b *cut) bool {
	c := r.feed.loop.c
	return len(b.Messages) >= c.MaxMessages || b.messages >= c.reach()
}
