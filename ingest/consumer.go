package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// Consumer reads CATALOG and OBSERVATIONS and drives a Sink: the whole
// catalogue first, then whichever stream has messages, with the catalogue
// before the observations.
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

// NewConsumer returns a loop; Run starts it.
func NewConsumer(c ConsumerConfig, js jetstream.JetStream, sink Sink, log *slog.Logger) (*Consumer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	c = c.withDefaults()
	l := &Consumer{
		c: c, js: js, sink: sink, log: log.With("consumer", c.Name),
		decoders: make(chan struct{}, runtime.GOMAXPROCS(0)), changed: make(chan struct{}),
	}
	l.catalog = newFeed(l, event.StreamCatalog, event.SubjectsCatalog, &l.progress.Catalog)
	l.observations = newFeed(l, event.StreamObservations, event.SubjectsObservations, &l.progress.Observations)
	return l, nil
}

// Run reads and applies until ctx ends, and then returns nil. Batches that the
// sink has at that moment may finish within the grace time, unless ctx ended
// because the lease was lost. Otherwise only a sink that is deposed, refuses
// permanently or found a forked stream ends it, with the sink's error:
// unreachable servers, missing streams and a failing sink are logged and waited
// for. Run it only once.
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

// ends reports whether the sink must not be called again after this error.
func ends(err error) bool {
	return errors.Is(err, event.ErrDeposed) || errors.Is(err, event.ErrRefused) || errors.Is(err, event.ErrGap) || errors.Is(err, errEpochBegun)
}

// begun is a batch of observations that the sink has.
type begun struct {
	*cut
	ended chan error
}

// consume applies the batches that the feeds offer until ctx ends.
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
			completed = l.catalog.completed // it completes without a batch if nothing was left
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
			if !l.applyOneByOne(ctx, under, err) {
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

// begin hands the batch to the sink.
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

// applyOneByOne applies the batches under way, whose first one failed, one after the
// other; false: ctx ended first.
func (l *Consumer) applyOneByOne(ctx context.Context, under []begun, err error) bool {
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
// accepts it; false: ctx ended first.
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
		wait := backoff(try, sinkBackoff)
		l.log.Error("sink failed, trying again", "stream", b.Stream, "epoch", b.Epoch, "first", b.First, "last", b.Last,
			"try", try, "wait", wait, "error", err)
		if !sleep(ctx, wait) {
			return false
		}
		err = l.give(ctx, b)
	}
	b.feed.recordApplied(b)
	b.acknowledge(ctx)
	return true
}

// done completes a batch that the sink has applied.
func (l *Consumer) done(ctx context.Context, b *cut) {
	l.apply(ctx, b, nil)
	close(b.over)
}

func (l *Consumer) leave(b *cut, err error) {
	l.log.Warn("batch left unapplied at the end", "stream", b.Stream, "first", b.First, "last", b.Last, "error", err)
}

// give makes the sink apply the batch, only this one time.
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

// outlive returns a context that outlives ctx by the grace time. The caller
// must call release.
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

// watch keeps the known ends of the streams up to date.
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
