package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// While a backlog waits, the sink has two batches, never more, and the
// catalogue is applied only when neither is under way; when the first fails,
// both come again, in order.
func TestConsumerGivesTheNextBatchWhileOneIsWritten(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for i := range 100 {
		publish(t, nc, observations(i, 1))
	}
	sink := newRecorder()
	both, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	sink.finish = func(b *event.Batch) {
		if b.First == 1 && held.CompareAndSwap(false, true) {
			<-both
			<-release
		}
	}
	var fails atomic.Int32
	sink.before = func(_ context.Context, b *event.Batch) error {
		if b.Stream == event.StreamCatalog {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if sink.under > 0 {
				t.Error("the catalogue came while observations were under way")
			}
			return nil
		}
		if b.First == 1 && fails.Add(1) == 1 {
			return errors.New("the database is away")
		}
		return nil
	}
	c := run(t, js, ingest.ConsumerConfig{MaxMessages: 10, Linger: 500 * time.Millisecond}, sink)
	must.Eventually(t, time.Minute, "two batches under way", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.most == 2 })
	publish(t, nc, item(1, 1))
	close(both)
	if a := c.Progress().Observations.Applied; a != 0 {
		t.Errorf("%d applied before the first batch was", a)
	}
	close(release)
	c.reach(t, js)
	if sink.most != 2 || fails.Load() != 2 {
		t.Errorf("%d batches under way, the first was tried %d times, want 2 and 2", sink.most, fails.Load())
	}
	if ids := sink.ids(event.StreamObservations); len(ids) != 100 || distinct(ids) != 100 {
		t.Errorf("%d events", len(ids))
	}
	if sink.overlap {
		t.Error("calls of the sink overlapped")
	}
}

// A batch that is not full waits while another is written, and grows.
func TestConsumerGivesSmallBatchesToAnIdleSinkOnly(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	sink := newRecorder()
	release := make(chan struct{})
	sink.finish = func(*event.Batch) { <-release }
	publish(t, nc, observations(0, 1))
	c := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	must.Eventually(t, time.Minute, "a batch under way", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return sink.under == 1 })
	for i := range 20 {
		publish(t, nc, observations(1+i, 1))
	}
	time.Sleep(50 * time.Millisecond) // longer than the linger
	close(release)
	c.reach(t, js)
	if sink.most != 1 {
		t.Errorf("%d batches at once", sink.most)
	}
}

// A sink that gives up, in a batch or when it is asked where to resume, ends the
// loop and the term at once. A leader that met a newer fence leads again; after
// another error the role ends, the lease is free for another process, and the
// error says why.
func TestDeposedSinkEndsTheLoopAndTheTerm(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	publish(t, nc, observations(0, 1))
	for _, c := range []struct {
		says, ends error
		terms      int
	}{{event.ErrDeposed, nil, 2}, {event.ErrRefused, event.ErrRefused, 1}, {event.ErrGap, event.ErrGap, 1}} {
		says := fmt.Errorf("observations: %w", c.says)
		for when, sink := range map[string]ingest.Sink{
			"in a batch":            &recorder{done: map[string]uint64{}, before: func(context.Context, *event.Batch) error { return says }},
			"asked where to resume": refuses{says},
		} {
			t.Run(fmt.Sprintf("%v, %s", c.says, when), func(t *testing.T) {
				l := must.Get(ingest.NewLease(ingest.LeaseConfig{Key: "projector.0", TTL: 500 * time.Millisecond}, js, logger(t)))(t)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var fences []uint64
				err := l.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
					if fences = append(fences, fence); len(fences) == 2 {
						return nil // the lease was given up, and is ours again
					}
					consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{}, js, sink, logger(t))
					if err != nil {
						return err
					}
					err = consumer.Run(ctx)
					if !errors.Is(err, c.says) || ctx.Err() != nil {
						t.Errorf("%v, lease: %v", err, ctx.Err())
					}
					if p := consumer.Progress(); p.Retries != 0 {
						t.Errorf("%d retries", p.Retries)
					}
					return err
				})
				if !errors.Is(err, c.ends) || ctx.Err() != nil || len(fences) != c.terms || len(fences) == 2 && fences[1] <= fences[0] {
					t.Errorf("%v, fences %d", err, fences)
				}
			})
		}
	}
}

// A sink that began with other messages than the stream has now gets the
// present ones in a new epoch, after what it applied, and the loop ends,
// because what it knew is void.
func TestSinkFindsAFork(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	for n := range 9 {
		publish(t, nc, observations(n+1, 1))
	}
	history := ingest.NewHistory(js)
	state := must.Get(history.State(t.Context(), event.StreamObservations))(t)
	old := state.Epoch
	sink := newRecorder()
	sink.done[at(event.StreamObservations, old)] = 4
	sink.before = func(_ context.Context, b *event.Batch) error {
		if b.Epoch == old {
			return fmt.Errorf("of others: %w", event.ErrForked)
		}
		return nil
	}
	consumer := must.Get(ingest.NewConsumer(ingest.ConsumerConfig{}, js, sink, logger(t)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := consumer.Run(ctx); !errors.Is(err, event.ErrForked) {
		t.Fatalf("Run = %v", err)
	}
	state = must.Get(history.State(t.Context(), event.StreamObservations))(t)
	if len(state.Forks) != 1 || state.Forks[0].After != 4 || state.Epoch <= old {
		t.Fatalf("%+v, want a fork after 4", state.Incarnation)
	}
	run(t, js, ingest.ConsumerConfig{}, sink).reach(t, js)
	var want []string
	for n := 5; n <= 9; n++ {
		want = append(want, eventID(1, n))
	}
	equals.Check(t, want, sink.ids(event.StreamObservations))
}

// refuses is a Sink that refuses everything.
type refuses struct{ err error }

func (r refuses) Resume(context.Context, string, event.Incarnation) (uint64, error) { return 0, r.err }

func (r refuses) Taken(context.Context, string, uint32, uint64, uint64) (map[uint64]string, error) {
	return nil, r.err
}
func (r refuses) ApplyCatalog(context.Context, *event.Batch) error { return r.err }
func (r refuses) BeginObservations(context.Context, *event.Batch) func() error {
	return func() error { return r.err }
}

// TestMessagesGoToAnother: waiting messages go to a deposed leader that had
// requested them; the new leader does not wait for their regular redelivery.
func TestMessagesGoToAnother(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	publish(t, nc, item(1, 1), observations(1, 1))
	config := ingest.ConsumerConfig{AckWait: 10 * time.Minute}
	before := newRecorder()
	c := run(t, js, config, before)
	c.reach(t, js)
	c.stop()
	deposed := must.Get(js.Consumer(t.Context(), event.StreamObservations, ingest.ProjectorConsumer(0, 1)))(t)
	asked := must.Get(deposed.Fetch(1000, jetstream.FetchMaxWait(20*time.Second)))(t)
	time.Sleep(200 * time.Millisecond) // the request waits at the server
	after := newRecorder()
	for k, seq := range before.done {
		after.done[k] = seq - 1 // the tables have less, so it comes again
	}
	began := time.Now()
	loop := run(t, js, config, after)
	must.Eventually(t, time.Minute, "all is applied", func() bool { return len(after.ids(event.StreamObservations)) == 1 })
	taken := 0
	for range asked.Messages() {
		taken++
		break
	}
	if taken == 0 {
		t.Error("nothing went to the other: this proves nothing")
	}
	t.Logf("applied after %v, %d restarts", time.Since(began), loop.Progress().Restarts)
}
