package ingest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestRetention: ages can be set shorter and longer, and stay; nothing is removed
// that a partition has not applied, exact to the message: I1.
func TestRetention(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	ctx := t.Context()
	age := func(name string) time.Duration {
		s := must.Get(js.Stream(ctx, name))(t)
		return s.CachedInfo().Config.MaxAge
	}
	for range 2 {
		must.Get(js.Publish(ctx, "observations.shop-1=example", []byte("any")))(t)
		time.Sleep(2 * time.Millisecond) // so that their times differ
	}
	s := must.Get(js.Stream(ctx, event.StreamObservations))(t)
	second := must.Get(s.GetMsg(ctx, 2))(t)
	const day = 24 * time.Hour
	r := ingest.Retention{Observations: day, DeadLetters: 2 * day}
	unapplied := func(what string, partitions int, now time.Time) {
		t.Helper()
		if err := r.Apply(ctx, js, partitions, now); !errors.Is(err, ingest.ErrUnapplied) || age(event.StreamObservations) != 0 {
			t.Errorf("%s: %v, and the stream keeps messages for %s", what, err, age(event.StreamObservations))
		}
	}
	unapplied("nobody has read the first", 1, second.Time.Add(day))
	if got := age(event.StreamDeadLetters); got != 2*day { // it does not wait for partitions
		t.Errorf("dead letters: %s", got)
	}
	c := must.Get(js.CreateConsumer(ctx, event.StreamObservations, jetstream.ConsumerConfig{Durable: ingest.ProjectorConsumer(0, 1), AckPolicy: jetstream.AckExplicitPolicy}))(t)
	m := must.Get(c.Next())(t)
	unapplied("the first is not acknowledged", 1, second.Time.Add(day))
	must.Do(t, m.DoubleAck(ctx))
	unapplied("the second would go, too", 1, second.Time.Add(day+1))
	unapplied("another partition has read nothing", 2, second.Time.Add(day))
	if err := r.Apply(ctx, js, 1, second.Time.Add(day)); err != nil || age(event.StreamObservations) != day {
		t.Errorf("the first alone goes: %v, %s", err, age(event.StreamObservations))
	}
	if err := ingest.EnsureStreams(ctx, js, ingest.StreamConfig{}); err != nil || age(event.StreamObservations) != day || age(event.StreamDeadLetters) != 2*day {
		t.Errorf("after another start: %s and %s, %v", age(event.StreamObservations), age(event.StreamDeadLetters), err)
	}
	if err := (ingest.Retention{Observations: 3 * day}).Apply(ctx, js, 1, time.Now()); err != nil || age(event.StreamObservations) != 3*day || age(event.StreamDeadLetters) != 2*day {
		t.Errorf("longer, and the other as it is: %s and %s, %v", age(event.StreamObservations), age(event.StreamDeadLetters), err)
	}
	err := ingest.Retention{Observations: day - 1, DeadLetters: -1}.Validate()
	if err == nil || strings.Count(err.Error(), "at least 24h0m0s") != 2 {
		t.Errorf("both are wrong: %v", err)
	}
}

// TestRetentionBySize: a stream beyond its limit in bytes drops the oldest
// messages until nine tenths of the limit are left, but none of the last 24
// hours, and none that is not applied. Afterwards it has its own age again.
func TestRetentionBySize(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	ctx := t.Context()
	body := []byte(strings.Repeat("x", 1000))
	for range 100 {
		must.Get(js.Publish(ctx, "observations.shop-1=example", body))(t)
	}
	s := must.Get(js.Stream(ctx, event.StreamObservations))(t)
	m := must.Get(s.GetMsg(ctx, 100))(t)
	last := m.Time
	info := func() *jetstream.StreamInfo {
		i := must.Get(s.Info(ctx))(t)
		return i
	}
	all := info().State.Bytes
	tomorrow := last.Add(10 * 24 * time.Hour)
	r := ingest.Retention{ObservationsBytes: all / 2}
	if err := r.Apply(ctx, js, 1, tomorrow); !errors.Is(err, ingest.ErrUnapplied) || info().Config.MaxAge != 0 {
		t.Errorf("nothing is applied: %v, %s", err, info().Config.MaxAge)
	}
	c := must.Get(js.CreateConsumer(ctx, event.StreamObservations, jetstream.ConsumerConfig{Durable: ingest.ProjectorConsumer(0, 1), AckPolicy: jetstream.AckAllPolicy}))(t)
	batch := must.Get(c.FetchNoWait(100))(t)
	for m := range batch.Messages() {
		if meta, err := m.Metadata(); err == nil && meta.Sequence.Stream == 100 {
			must.Do(t, m.DoubleAck(ctx))
		}
	}
	if err := r.Apply(ctx, js, 1, last.Add(time.Hour)); err != nil || info().Config.MaxAge != ingest.MinRetention {
		t.Errorf("an hour later: %v, the age is %s, want the least", err, info().Config.MaxAge)
	}
	must.Do(t, r.Apply(ctx, js, 1, tomorrow))
	oldest := must.Get(s.GetMsg(ctx, 100-45))(t)
	equals.Is(t, tomorrow.Sub(oldest.Time), info().Config.MaxAge, "the age is, that of the last 45 messages")
	r.Observations = 48 * time.Hour
	if err := r.Apply(ctx, js, 1, tomorrow); err != nil || info().Config.MaxAge != 48*time.Hour {
		t.Errorf("an age that is shorter is kept: %v, %s", err, info().Config.MaxAge)
	}
	r.ObservationsBytes = all
	r.Observations = 0
	if err := r.Apply(ctx, js, 1, tomorrow); err != nil || info().Config.MaxAge != 0 {
		t.Errorf("within its bytes: %v, %s", err, info().Config.MaxAge)
	}
}
