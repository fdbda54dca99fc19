package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/event"
)

// ConsumerConfig bounds the consumer loop; 0 takes the default.
type ConsumerConfig struct {
	// Partition of Partitions is this loop's share of OBSERVATIONS, by
	// event.Partition. Messages of others are passed over unread: the sink
	// gets batches that reach beyond them. What of CATALOG cannot be read goes
	// into the dead letters once, from whichever of them cannot.
	Partition, Partitions int
	Name                  string // of the durable consumers; ProjectorConsumer
	SkipPoison            bool   // leave out what cannot be read: another loop has put it into the dead letters

	// A batch ends at the first of these: result rows (100,000), bytes as
	// published (32 MiB), messages (10,000), and, while the sink is idle, the
	// time since its first message (100 ms). So batches are small while little
	// comes in, and large while a backlog waits. Four at most are in memory:
	// two in the sink, one that is full, and what is read behind it.
	MaxRows     int
	MaxBytes    int
	MaxMessages int
	Linger      time.Duration
	PassLinger  time.Duration // instead, of a batch that only passes over others' messages; 250 ms

	AckWait    time.Duration // until the server delivers again; 60 s
	MaxBackoff time.Duration // longest wait between two tries of the sink; 10 s
	Grace      time.Duration // for the batch in the sink when the loop shall end; 20 s
	Workers    int           // decoding side by side; one a processor

	Tracer trace.Tracer // makes the spans of batches; nil: there are none
}

// DefaultConsumerConfig gives the defaults.
func DefaultConsumerConfig() ConsumerConfig {
	return ConsumerConfig{
		Partitions: 1, MaxRows: 100_000, MaxBytes: 32 << 20, MaxMessages: 10_000, Linger: 100 * time.Millisecond, PassLinger: 250 * time.Millisecond,
		AckWait: 60 * time.Second, MaxBackoff: 10 * time.Second, Grace: 20 * time.Second, Workers: runtime.GOMAXPROCS(0),
	}
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	d := DefaultConsumerConfig()
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	wait := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	set(&c.Partitions, d.Partitions)
	set(&c.MaxRows, d.MaxRows)
	set(&c.MaxBytes, d.MaxBytes)
	set(&c.MaxMessages, d.MaxMessages)
	set(&c.Workers, d.Workers)
	wait(&c.Linger, d.Linger)
	wait(&c.PassLinger, d.PassLinger)
	wait(&c.AckWait, d.AckWait)
	wait(&c.MaxBackoff, d.MaxBackoff)
	wait(&c.Grace, d.Grace)
	if c.Name == "" {
		c.Name = ProjectorConsumer(c.Partition, c.Partitions)
	}
	return c
}

// reach bounds the messages that one batch answers for, those of others
// included: more than its own, so that a share of a backlog fills a batch too.
func (c ConsumerConfig) reach() int { return c.MaxMessages * min(c.Partitions, maxReach) }

const maxReach = 8

// owns tells whether the message is of this loop's partition.
func (c ConsumerConfig) owns(subject string) bool {
	return event.Partition(subject, c.Partitions) == c.Partition
}

// Validate names every fault of the configuration.
func (c ConsumerConfig) Validate() error {
	var f contracts.Faults
	c = c.withDefaults()
	if err := event.CheckPartition(c.Partition, c.Partitions); err != nil {
		f.Addf("consumer %w", err)
	}
	f.Check(c.MaxRows > 0 && c.MaxBytes > 0 && c.MaxMessages > 0, "consumer batch limits: not positive")
	f.Check(c.MaxMessages <= 1_000_000, "consumer batch messages: %d, at most 1000000", c.MaxMessages)
	f.Check(c.Linger > 0 && c.PassLinger > 0 && c.MaxBackoff > 0 && c.Grace > 0, "consumer times: not positive")
	f.Check(c.AckWait >= time.Second, "consumer ack wait: %s is shorter than a second", c.AckWait)
	f.Check(c.Workers > 0, "consumer workers: not positive")
	return f.Err()
}

// Progress tells how far the loop is and what it met since it was made.
type Progress struct {
	Catalog, Observations StreamProgress

	Events      uint64 // applied
	Rows        uint64 // result rows of the applied observations
	Batches     uint64 // applied
	Passed      uint64 // messages of other partitions, passed over
	Poison      uint64 // put into the dead letters
	Redelivered uint64 // dropped, since they were here before
	Retries     uint64 // tries of the sink or the dead letters after the first
	Restarts    uint64 // times a stream was opened again
}

// StreamProgress tells how far the loop is in one stream.
type StreamProgress struct {
	Epoch   uint32 // 0: not open yet
	Applied uint64 // every message up to here is done
	Last    uint64 // the stream's last message, as of a second ago
	Lag     uint64 // messages not applied yet, as of a second ago

	Heard    time.Time // when a leader of the stream that leads for certain was last heard of
	Stored   time.Time // when the last applied message came into the stream; zero: none was applied since the loop was made
	Messages uint64    // in the stream, and their bytes, as of a second ago
	Bytes    uint64
}

// Consumer reads CATALOG and OBSERVATIONS and drives a Sink: the whole
// catalogue first, then whichever has messages, the catalogue before the
// observations.
type Consumer struct {
	c    ConsumerConfig
	js   jetstream.JetStream
	log  *slog.Logger
	sink Sink

	stop                  context.CancelCauseFunc // ends Run
	catalog, observations *feed
	sinkMu                sync.Mutex    // the sink's calls never overlap
	decoders              chan struct{} // slots of the workers

	mu       sync.Mutex
	progress Progress
	changed  chan struct{} // closed and replaced when progress moves
}

// NewConsumer makes a loop; Run starts it.
func NewConsumer(c ConsumerConfig, js jetstream.JetStream, sink Sink, log *slog.Logger) (*Consumer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c = c.withDefaults()
	l := &Consumer{
		c: c, js: js, sink: sink, log: log.With("consumer", c.Name),
		decoders: make(chan struct{}, c.Workers), changed: make(chan struct{}),
	}
	l.catalog = newFeed(l, event.StreamCatalog, event.SubjectsCatalog, &l.progress.Catalog)
	l.observations = newFeed(l, event.StreamObservations, event.SubjectsObservations, &l.progress.Observations)
	return l, nil
}

// Run reads and applies until ctx ends, and then returns nil. Batches that the
// sink has at that moment may finish within the grace time, unless ctx ended
// because the lease was lost. Else only a sink that is deposed, refuses for good
// or found a forked stream ends it, with its error: servers that are away,
// streams that are missing and a failing sink are waited for and logged. Run it
// once.
func (l *Consumer) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, l.stop = context.WithCancelCause(ctx)
	defer l.stop(nil)
	wg.Go(func() { l.catalog.run(ctx) })
	wg.Go(func() { l.observations.run(ctx) })
	wg.Go(func() { l.watch(ctx) })
	l.consume(ctx)
	if err := context.Cause(ctx); ends(err) {
		return err
	}
	return nil
}

// ends tells whether the sink must not be asked again after this error.
func ends(err error) bool {
	return errors.Is(err, event.ErrDeposed) || errors.Is(err, event.ErrRefused) || errors.Is(err, event.ErrGap) || errors.Is(err, errEpochBegun)
}

// begun is a batch of observations that the sink has.
type begun struct {
	*cut
	ended chan error
}

// consume applies what the feeds offer until ctx ends.
func (l *Consumer) consume(ctx context.Context) {
	var (
		under   []begun // in order
		records *cut    // of the catalogue; they wait until nothing is under way
	)
	for {
		if records != nil && len(under) == 0 {
			ok := l.apply(ctx, records, l.give(ctx, records))
			close(records.over)
			records = nil
			if !ok {
				return
			}
		}
		var catalog, full, rest chan *cut
		var ended chan error
		if len(under) > 0 {
			ended = under[0].ended
		}
		if records == nil {
			catalog = l.catalog.out
			select {
			case records = <-catalog: // before any observations
				continue
			default:
			}
			if l.catalog.complete() {
				if len(under) < maxUnderWay {
					full = l.observations.full
				}
				if len(under) == 0 {
					rest = l.observations.out
				}
			}
		}
		var completed chan struct{}
		if !l.catalog.complete() {
			completed = l.catalog.completed // without a batch: nothing was left
		}
		var b *cut
		select {
		case records = <-catalog:
		case b = <-full:
		case b = <-rest:
		case <-completed:
		case err := <-ended:
			if err == nil {
				l.done(ctx, under[0].cut)
				under = under[1:]
				continue
			}
			if !l.again(ctx, under, err) {
				return
			}
			under = nil
		case <-ctx.Done():
			for n, u := range under {
				if err := <-u.ended; err != nil {
					l.leave(u.cut, err)
					for _, u := range under[n:] {
						close(u.over)
					}
					return
				}
				l.done(ctx, u.cut)
			}
			return
		}
		if b == nil {
			continue
		}
		if ctx.Err() != nil { // both were ready
			close(b.over)
			continue
		}
		under = append(under, l.begin(ctx, b))
	}
}

// begin gives the batch to the sink.
func (l *Consumer) begin(ctx context.Context, b *cut) begun {
	inner, release := l.outlive(ctx)
	inner, end := l.applying(inner, b)
	u := begun{b, make(chan error, 1)}
	l.sinkMu.Lock()
	finish := l.sink.BeginObservations(inner, &b.Batch)
	l.sinkMu.Unlock()
	go func() {
		defer release()
		err := finish()
		end(err)
		u.ended <- err
	}()
	return u
}

// again applies the batches of which the first failed, one after the other;
// false: ctx ended first.
func (l *Consumer) again(ctx context.Context, under []begun, err error) bool {
	for _, u := range under[1:] {
		<-u.ended
	}
	ok := true
	for n, u := range under {
		if n > 0 && ok {
			err = l.give(ctx, u.cut)
		}
		ok = ok && l.apply(ctx, u.cut, err)
		close(u.over)
	}
	return ok
}

// apply gives the batch, whose first try ended with err, to the sink until it
// takes it; false: ctx ended first.
func (l *Consumer) apply(ctx context.Context, b *cut, err error) bool {
	for try := 1; err != nil; try++ {
		if rejected := new(event.Rejected); errors.As(err, &rejected) {
			if !l.reject(ctx, b, rejected) {
				l.leave(b, err)
				return false
			}
			err = l.give(ctx, b)
			continue
		}
		if errors.Is(err, event.ErrForked) && ctx.Err() == nil {
			err = l.forked(ctx, b, err)
		}
		if ends(err) {
			l.stop(err)
		}
		if ctx.Err() != nil {
			l.leave(b, err)
			return false
		}
		l.count(func(p *Progress) { p.Retries++ })
		wait := backoff(try, l.c.MaxBackoff)
		l.log.Error("sink failed, trying again", "stream", b.Stream, "epoch", b.Epoch, "first", b.First, "last", b.Last,
			"try", try, "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return false
		}
		err = l.give(ctx, b)
	}
	b.feed.applied(b)
	b.acknowledge(ctx)
	return true
}

// done takes in that the sink has applied the batch.
func (l *Consumer) done(ctx context.Context, b *cut) {
	l.apply(ctx, b, nil)
	close(b.over)
}

func (l *Consumer) leave(b *cut, err error) {
	l.log.Warn("batch left unapplied at the end", "stream", b.Stream, "first", b.First, "last", b.Last, "error", err)
}

// give lets the sink apply the batch, once.
func (l *Consumer) give(ctx context.Context, b *cut) (err error) {
	l.sinkMu.Lock()
	defer l.sinkMu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	inner, release := l.outlive(ctx)
	defer release()
	inner, end := l.applying(inner, b)
	defer func() { end(err) }()
	if b.feed == l.catalog {
		return l.sink.ApplyCatalog(inner, &b.Batch)
	}
	return l.sink.BeginObservations(inner, &b.Batch)()
}

// outlive gives a context that outlives ctx by the grace time. release it.
func (l *Consumer) outlive(ctx context.Context) (inner context.Context, release func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if !errors.Is(cause, ErrLeaseLost) && !ends(cause) {
			select {
			case <-time.After(l.c.Grace):
			case <-over:
			}
		}
		cancel(cause)
	})
	return inner, func() {
		close(over)
		stop()
		cancel(nil)
	}
}

func (l *Consumer) resume(ctx context.Context, stream string, now event.Incarnation) (uint64, error) {
	l.sinkMu.Lock()
	defer l.sinkMu.Unlock()
	return l.sink.Resume(ctx, stream, now)
}

// taken may be asked while batches are under way.
func (l *Consumer) taken(ctx context.Context, stream string, epoch uint32, first, last uint64) (map[uint64]string, error) {
	return l.sink.Taken(ctx, stream, epoch, first, last)
}

// Progress tells how far the loop is.
func (l *Consumer) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

// CaughtUp waits until every message of the stream up to seq is applied, or
// went to the dead letters.
func (l *Consumer) CaughtUp(ctx context.Context, stream string, seq uint64) error {
	var at *StreamProgress
	switch stream {
	case event.StreamCatalog:
		at = &l.progress.Catalog
	case event.StreamObservations:
		at = &l.progress.Observations
	default:
		return fmt.Errorf("stream %s is not read", stream)
	}
	for {
		l.mu.Lock()
		done, changed := at.Epoch != 0 && at.Applied >= seq, l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count changes the progress and wakes whoever waits for it.
func (l *Consumer) count(change func(*Progress)) {
	l.mu.Lock()
	change(&l.progress)
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
}

// watch keeps the streams' ends fresh.
func (l *Consumer) watch(ctx context.Context) {
	for sleep(ctx, time.Second) {
		for _, f := range []*feed{l.catalog, l.observations} {
			f.look(ctx)
		}
	}
}

// sleep waits; false: ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
