package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestRetention: it is reported in time that a message that is in no table is
// about to be dropped, and that the stream is about to be full.
func TestRetention(t *testing.T) {
	s, ctx := onStreams(t), t.Context()
	js := s.JS
	var published time.Time
	age := time.Duration(0)
	s.Now = func() time.Time { return published.Add(age) }
	look := func(what string, state State, says string) {
		t.Helper()
		found := s.retention(ctx)
		for _, f := range found {
			if f.State == state && strings.Contains(f.Says, says) && (f.Fix == "") == (state == OK) {
				return
			}
		}
		t.Errorf("%s: %+v, want %s: %q", what, found, state, says)
	}
	set := func(change func(c *jetstream.StreamConfig)) {
		t.Helper()
		stream := must.Get(js.Stream(ctx, event.StreamObservations))(t)
		c := stream.CachedInfo().Config
		change(&c)
		must.Get(js.UpdateStream(ctx, c))(t)
	}
	look("a new stream", OK, "drops nothing")
	set(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
	look("an empty one", OK, "all of it is in the tables")
	must.Get(js.Publish(ctx, "observations.shop-1=example", make([]byte, 1000)))(t)
	stream := must.Get(js.Stream(ctx, event.StreamObservations))(t)
	m := must.Get(stream.GetMsg(ctx, 1))(t)
	published = m.Time
	for _, c := range []struct {
		age   time.Duration
		state State
	}{{0, OK}, {30*time.Minute - 1, OK}, {30 * time.Minute, Warning}, {48 * time.Minute, Bad}} {
		age = c.age
		look(age.String(), c.state, "the oldest that is in no table is "+age.Round(time.Second).String()+" old")
	}
	c := must.Get(js.CreateConsumer(ctx, event.StreamObservations, jetstream.ConsumerConfig{Durable: ingest.ProjectorConsumer(0, 1), AckPolicy: jetstream.AckExplicitPolicy}))(t)
	next := must.Get(c.Next())(t)
	look("it is delivered", Bad, "the oldest that is in no table is 48m0s old")
	must.Do(t, next.DoubleAck(ctx))
	look("it is applied", OK, "all of it is in the tables")
	set(func(c *jetstream.StreamConfig) { c.MaxBytes = int64(stream.CachedInfo().State.Bytes) })
	look("it is full", Bad, "of at most")
}
