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

// MinRetention is the shortest time for which a message is kept: what a
// projector that was stopped has not applied by then is lost.
const MinRetention = 24 * time.Hour

// Retention is for how long streams keep a message after it was published; 0
// leaves a stream as it is. CATALOG has none: it is the last state of each
// record.
type Retention struct {
	Observations time.Duration
	DeadLetters  time.Duration
}

// ErrUnapplied: a retention would remove messages that are in no table yet.
var ErrUnapplied = errors.New("messages that are older than the retention are not applied yet")

// Validate names every fault.
func (r Retention) Validate() error {
	var f contracts.Faults
	f.Check(r.Observations == 0 || r.Observations >= MinRetention, "keep-observations: %s, 0 or at least %s", r.Observations, MinRetention)
	f.Check(r.DeadLetters == 0 || r.DeadLetters >= MinRetention, "keep-dead-letters: %s, 0 or at least %s", r.DeadLetters, MinRetention)
	return f.Err()
}

// Apply sets both, longer or shorter than what the streams have; the server then
// removes at once what is older. partitions is how many divide OBSERVATIONS:
// while one of them has not applied what would be removed, that stream stays as
// it is and the error is ErrUnapplied.
func (r Retention) Apply(ctx context.Context, js jetstream.JetStream, partitions int, now time.Time) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return errors.Join(
		keep(ctx, js, event.StreamDeadLetters, r.DeadLetters, func(jetstream.Stream) error { return nil }),
		keep(ctx, js, event.StreamObservations, r.Observations, func(s jetstream.Stream) error {
			return applied(ctx, s, partitions, now.Add(-r.Observations))
		}))
}

func keep(ctx context.Context, js jetstream.JetStream, stream string, age time.Duration, may func(jetstream.Stream) error) error {
	if age == 0 {
		return nil
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	c := s.CachedInfo().Config
	if c.MaxAge == age {
		return nil
	}
	if err := may(s); err != nil {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	c.MaxAge = age
	if _, err := js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("stream %s: keeping messages for %s: %w", stream, age, err)
	}
	return nil
}

// applied tells whether every partition has applied what was published before:
// ErrUnapplied.
func applied(ctx context.Context, s jetstream.Stream, partitions int, before time.Time) error {
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
