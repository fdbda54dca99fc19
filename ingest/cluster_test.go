package ingest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// apart moves the leaders of a stream and of a projector's consumer of it to
// two different servers, and returns these and the third.
func apart(t *testing.T, c *cluster.Cluster, nc *nats.Conn, js jetstream.JetStream, stream, consumer string) (leader, follower, third int) {
	t.Helper()
	must.Eventually(t, time.Minute, "stream and consumer have leaders apart", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return false
		}
		one, err := s.Consumer(ctx, consumer)
		if err != nil {
			return false
		}
		leader, follower = cluster.Node(s.CachedInfo().Cluster.Leader), cluster.Node(one.CachedInfo().Cluster.Leader)
		third = cluster.Size - leader - follower
		if leader == follower {
			_ = c.StepDown(ctx, nc, stream, consumer, (leader+1)%cluster.Size)
			time.Sleep(100 * time.Millisecond)
		}
		return leader != follower && leader >= 0 && follower >= 0
	})
	return leader, follower, third
}

// begins is a cluster whose leader has not heard of all servers yet, a state
// that a real cluster cannot be put into at will.
type begins struct {
	jetstream.JetStream
	code     jetstream.ErrorCode
	refusals int
}

func (b *begins) CreateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if b.refusals > 0 {
		b.refusals--
		return nil, &jetstream.APIError{Code: 400, ErrorCode: b.code, Description: "no suitable peers for placement, peer offline"}
	}
	return b.JetStream.CreateStream(ctx, c)
}

// TestStreamsOfAClusterThatBegins: EnsureStreams waits for a cluster that
// cannot place streams yet, but not after any other refusal, and no longer than
// its context allows.
func TestStreamsOfAClusterThatBegins(t *testing.T) {
	t.Parallel()
	js := must.Get(jetstream.New(dial(t, testserver.NATS(t))))(t)
	if err := ingest.EnsureStreams(t.Context(), &begins{js, 10052, 1}, ingest.StreamConfig{}); err == nil {
		t.Error("what is refused for another reason is asked for again")
	}
	soon, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
	defer cancel()
	if err := ingest.EnsureStreams(soon, &begins{js, 10005, 100}, ingest.StreamConfig{}); err == nil {
		t.Error("a cluster that never begins gave streams")
	}
	if err := ingest.EnsureStreams(t.Context(), &begins{js, 10005, 2}, ingest.StreamConfig{}); err != nil {
		t.Error(err)
	}
}

// The server of the consumer's leader follows that of the stream's leader, and
// is late. If it knows of no waiting message, that proves nothing: I1, I7.
func TestConsumerOnALateFollower(t *testing.T) {
	effort.Full(t, "a server of a cluster that is late")
	t.Parallel() // it waits most of its time
	c := cluster.Start(t)
	nc := dial(t, c.URL(0))
	js := must.Get(jetstream.New(nc))(t)
	must.Do(t, ingest.EnsureStreams(t.Context(), js, ingest.StreamConfig{Replicas: cluster.Size}))
	sink := newRecorder()
	var want []string
	send := func(n int) {
		t.Helper()
		events := make([]*event.Event, n)
		for i := range events {
			events[i] = observations(len(want), 1)
			want = append(want, eventID(1, len(want)))
		}
		publish(t, nc, events...)
	}
	send(10)
	loop := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	loop.reach(t, js)
	loop.stop()

	leader, follower, third := apart(t, c, nc, js, event.StreamObservations, "projector-0")
	// Through the third server, so that only the follower is late.
	near := dial(t, c.URL(third))
	js = must.Get(jetstream.New(near))(t)
	nc = near
	const late = 600 * time.Millisecond
	c.Late(leader, follower, late)
	time.Sleep(late) // messages on their way are late, too
	send(5)
	loop = run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := ingest.WaitApplied(ctx, js, 1); err == nil && len(sink.ids(event.StreamObservations)) < len(want) {
		t.Error("who waits for what was published is told that it is applied")
	}
	for {
		at, got := loop.Progress().Observations, len(sink.ids(event.StreamObservations))
		if got == len(want) {
			break
		}
		if at.Epoch != 0 && at.Last <= at.Applied {
			t.Fatalf("%d of %d messages are applied, and %+v says that none waits", got, len(want), at)
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.Late(leader, follower, 0)
	send(10)
	loop.reach(t, js)
	if d := cmp.Diff(want, sink.ids(event.StreamObservations)); d != "" {
		t.Error("lost or doubled (-want +got):\n" + d)
	}
	if p := loop.Progress(); p.Redelivered != 0 {
		t.Errorf("%+v", p)
	}

	// And a reader of the stream's history reads all of it.
	c.Late(leader, follower, late)
	c.Late(leader, third, late)
	time.Sleep(late)
	send(3)
	n := 0
	for _, err := range ingest.NewHistory(js).Read(t.Context(), event.ReadRequest{Stream: event.StreamObservations}) {
		must.Do(t, err)
		n++
	}
	if n != len(want) {
		t.Errorf("%d messages read of %d", n, len(want))
	}
	if err := ingest.WaitApplied(t.Context(), js, 1); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What an operator deleted, or put into the stream under another subject, is
// proved not to be ours; everything else is applied: I1, I7.
func TestConsumerPassesOverWhatIsNotThere(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	s := must.Get(js.Stream(t.Context(), event.StreamObservations))(t)
	c := s.CachedInfo().Config
	c.Subjects, c.DenyDelete = append(c.Subjects, "others.>"), false
	must.Do(t, js.DeleteStream(t.Context(), c.Name))
	s = must.Get(js.CreateStream(t.Context(), c))(t)
	other := func() {
		t.Helper()
		must.Get(js.Publish(t.Context(), "others.one", nil))(t)
	}
	var want []string
	for i := range 20 {
		publish(t, nc, observations(i, 1))
		if i%7 == 3 {
			other()
		} else {
			want = append(want, eventID(1, i))
		}
	}
	other()
	publish(t, nc, observations(20, 1))
	for seq := uint64(1); ; seq++ { // those followed by a message of others, and the last
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			break
		}
		next, err := s.GetMsg(t.Context(), seq+1)
		if last := err != nil; last || next.Subject == "others.one" && seq < 21 {
			must.Do(t, s.DeleteMsg(t.Context(), m.Sequence))
		}
	}
	sink := newRecorder()
	loop := run(t, js, ingest.ConsumerConfig{Linger: time.Millisecond}, sink)
	loop.reach(t, js)
	if d := cmp.Diff(want, sink.ids(event.StreamObservations)); d != "" {
		t.Error("(-want +got):\n" + d)
	}
	if p := loop.Progress(); p.Observations.Lag != 0 || p.Restarts != 0 {
		t.Errorf("%+v", p)
	}
	if err := ingest.WaitApplied(t.Context(), js, 1); err != nil {
		t.Error(err)
	}
	// And later messages continue from the sink's position.
	publish(t, nc, observations(21, 1))
	loop.reach(t, js)
	if got := sink.ids(event.StreamObservations); len(got) != len(want)+1 {
		t.Errorf("%d events, want %d", len(got), len(want)+1)
	}
}
