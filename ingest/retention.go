package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
)

// MinRetention is the shortest time for which a message is kept: what a stopped
// projector has not applied by then is lost.
const MinRetention = 24 * time.Hour

// Retention is how long streams keep a message after it was published; 0 leaves
// a stream unchanged. CATALOG has none: it is the last state of each record.
type Retention struct {
	Observations time.Duration
	DeadLetters  time.Duration

	// ObservationsBytes bounds the stream OBSERVATIONS; 0: it is not bounded.
	// With a bound, an age of 0 means for ever.
	ObservationsBytes uint64
}

// ErrUnapplied means that a retention would remove messages that are in no
// table yet.
var ErrUnapplied = errors.New("messages that are older than the retention are not applied yet")

// Validate returns every fault.
func (r Retention) Validate() error {
	var f contracts.Faults
	f.Check(r.Observations == 0 || r.Observations >= MinRetention, "keep-observations: %s, 0 or at least %s", r.Observations, MinRetention)
	f.Check(r.DeadLetters == 0 || r.DeadLetters >= MinRetention, "keep-dead-letters: %s, 0 or at least %s", r.DeadLetters, MinRetention)
	return f.Err()
}

// Apply sets both ages, whether longer or shorter than what the streams have;
// the server then removes at once what is older. partitions is how many
// partitions divide OBSERVATIONS: while one of them has not applied what would
// be removed, that stream stays unchanged and the error is ErrUnapplied.
//
// A stream that exceeds its bytes gets the age at which nine tenths of them
// fit, but at least MinRetention, and its own age again with the next call: so
// where there is a bound, Apply must be called repeatedly.
func (r Retention) Apply(ctx context.Context, js jetstream.JetStream, partitions int, now time.Time) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return errors.Join(
		r.applyLetters(ctx, js),
		r.applyObservations(ctx, js, partitions, now))
}

func (r Retention) applyLetters(ctx context.Context, js jetstream.JetStream) error {
	if r.DeadLetters == 0 {
		return nil
	}
	s, err := js.Stream(ctx, event.StreamDeadLetters)
	if err == nil {
		err = keep(ctx, js, s, r.DeadLetters)
	}
	return of(event.StreamDeadLetters, err)
}

func (r Retention) applyObservations(ctx context.Context, js jetstream.JetStream, partitions int, now time.Time) error {
	if r.Observations == 0 && r.ObservationsBytes == 0 {
		return nil
	}
	s, err := js.Stream(ctx, event.StreamObservations)
	if err != nil {
		return of(event.StreamObservations, err)
	}
	age, err := r.age(ctx, s, now)
	if err == nil && age > 0 && age != s.CachedInfo().Config.MaxAge {
		err = checkApplied(ctx, s, partitions, now.Add(-age))
	}
	if err == nil {
		err = keep(ctx, js, s, age)
	}
	return of(event.StreamObservations, err)
}

// age returns how long the stream OBSERVATIONS should keep messages; 0: for
// ever.
func (r Retention) age(ctx context.Context, s jetstream.Stream, now time.Time) (time.Duration, error) {
	state := s.CachedInfo().State
	if r.ObservationsBytes == 0 || state.Bytes <= r.ObservationsBytes {
		return r.Observations, nil
	}
	fit := uint64(float64(state.Msgs) * 0.9 * float64(r.ObservationsBytes) / float64(state.Bytes))
	oldest, err := s.GetMsg(ctx, max(state.FirstSeq, state.LastSeq-min(fit, state.LastSeq)), jetstream.WithGetMsgSubject(">"))
	if err != nil {
		return 0, err
	}
	age := max(MinRetention, now.Sub(oldest.Time))
	if r.Observations > 0 {
		age = min(age, r.Observations)
	}
	return age, nil
}

// of adds the stream's name to an error.
func of(stream string, err error) error {
	if err != nil {
		err = fmt.Errorf("stream %s: %w", stream, err)
	}
	return err
}

func keep(ctx context.Context, js jetstream.JetStream, s jetstream.Stream, age time.Duration) error {
	c := s.CachedInfo().Config
	if c.MaxAge == age {
		return nil
	}
	c.MaxAge = age
	if _, err := js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("keeping messages for %s: %w", age, err)
	}
	return nil
}

// checkApplied checks that every partition has applied what was published before
// that time: ErrUnapplied.
func checkApplied(ctx context.Context, s jetstream.Stream, partitions int, before time.Time) error {
	state := s.CachedInfo().State
	if state.Msgs == 0 {
		return nil
	}
	kept, err := since(ctx, s, before, max(state.FirstSeq, 1), state.LastSeq+1)
	if err != nil || kept == state.FirstSeq {
		return err
	}
	for p := range partitions {
		c, err := s.Consumer(ctx, ProjectorConsumer(p, partitions))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("%w: partition %d of %d has not read it", ErrUnapplied, p, partitions)
		}
		if err != nil {
			return err
		}
		info := c.CachedInfo()
		if waits := info.NumPending + uint64(info.NumAckPending); waits > 0 && info.AckFloor.Stream+1 < kept {
			return fmt.Errorf("%w: of partition %d of %d, %d wait", ErrUnapplied, p, partitions, waits)
		}
	}
	return nil
}
