package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// How many sequences are looked up in the sink: in the first step, in a later
// step at most, and in total at most without finding any.
const (
	forkStep    = 64
	forkMaxStep = 16 << 10
	forkReach   = 64 << 10
)

// fork finds the sequence up to which the stream still has the messages that
// the sink applied. A stream that was restored from an older copy, or lost its
// tail in a power failure, assigns its sequences again, possibly before anyone
// checks: a message that is then at a sequence is not the one that was applied
// there. forked is false when nothing has changed. Reading something again
// because it could not be compared does no harm: an event is known by its id.
// In CATALOG, where only records are compared, it goes unnoticed if another
// state of the same record is at the very same sequence.
//
// A partition knows only its own events, and may have passed over messages that
// no partition has applied yet. witness is the message that this loop applied
// or passed over last; the zero value: this is its first check.
func (f *feed) fork(ctx context.Context, s jetstream.Stream, in event.Incarnation, applied uint64, witness position) (last uint64, forked bool, err error) {
	reached, err := f.reached(ctx, in.Epoch, applied)
	if err != nil {
		return 0, false, err
	}
	state, err := atLeast(ctx, s, reached)
	if err != nil {
		return 0, false, err
	}
	top := min(reached, state.LastSeq)
	least := state.FirstSeq - min(state.FirstSeq, 1)
	if after := in.After(); after < applied { // earlier sequences belong to earlier epochs, unless the sink started over
		least = max(least, after)
	}
	short, end := state.LastSeq < reached, top
	differs, err := f.replaced(ctx, s, witness)
	if err != nil {
		return 0, false, err
	}
	// In what one partition knows, the last known message is not the end of
	// what is unchanged.
	whole := f.loop.c.Partitions == 1 || f.stream != event.StreamObservations
	enough := 1 // the event that was taken there also shows that all before it are
	if f.stream == event.StreamCatalog {
		enough = forkStep // a later state of the same record may be there by chance
	}
	for step := uint64(forkStep); end > least && (differs || short && !whole || top-end < forkReach); step = min(4*step, forkMaxStep) {
		first := max(least+1, end-min(end, step-1))
		taken, err := f.takenFrom(ctx, s, in.Epoch, first, end)
		if err != nil {
			return 0, false, err
		}
		alike := 0
		for seq := end; seq >= first && alike < enough; seq-- {
			what, ok := taken[seq]
			if !ok {
				continue // no event, or a copy of one: it proves nothing
			}
			m, err := s.GetMsg(ctx, seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return 0, false, err
			}
			if !same(f.stream, m, what) {
				differs, alike = true, 0
				continue
			}
			if alike++; alike == 1 {
				last = seq
			}
		}
		if alike > 0 {
			return last, short || differs, nil
		}
		end = first - 1
	}
	if differs || short && !whole {
		return end, true, nil
	}
	return top, short, nil // nothing to compare
}

// takenFrom returns what the sink took from a range of sequences; nothing if the
// stream has no message there any more, as where records have newer states. The
// sink may have batches under way.
func (f *feed) takenFrom(ctx context.Context, s jetstream.Stream, epoch uint32, first, last uint64) (map[uint64]string, error) {
	next, err := s.GetMsg(ctx, first, jetstream.WithGetMsgSubject(">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && next.Sequence > last {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f.loop.sink.Taken(ctx, f.stream, epoch, first, last)
}

// same reports whether the message is the one that the sink took at that sequence.
func same(stream string, m *jetstream.RawStreamMsg, taken string) bool {
	if stream == event.StreamCatalog {
		return m.Subject == taken
	}
	e, err := event.Decode(m.Data)
	return err == nil && strings.EqualFold(e.ID, taken)
}

// leaderCatchUp is how long a stream's new leader gets to catch up.
const leaderCatchUp = 2 * time.Second

// atLeast returns the stream's state. A stream that ends before what was
// applied from it has lost its tail, unless the server that reports this is
// late.
func atLeast(ctx context.Context, s jetstream.Stream, reached uint64) (jetstream.StreamState, error) {
	info := s.CachedInfo()
	for began := time.Now(); info.State.LastSeq < reached && info.Cluster != nil && len(info.Cluster.Replicas) > 0 && time.Since(began) < leaderCatchUp; {
		if !sleep(ctx, 100*time.Millisecond) {
			return info.State, context.Cause(ctx)
		}
		newer, err := settledInfo(ctx, s)
		if err != nil {
			return info.State, err
		}
		info = newer
	}
	return info.State, nil
}

// errEpochBegun is an event.ErrForked after which a new epoch was begun.
var errEpochBegun = errors.New("it begins a new epoch")

// forked begins a new epoch after what is applied, unless it has already been
// begun.
func (l *Consumer) forked(ctx context.Context, b *cut, found error) error {
	s, err := l.js.Stream(ctx, b.Stream)
	if err == nil && incarnation(s.CachedInfo()).Epoch == b.Epoch {
		l.mu.Lock()
		applied := b.feed.at.Applied
		l.mu.Unlock()
		err = beginEpoch(ctx, l.js, s.CachedInfo(), applied, time.Now())
	}
	if err != nil {
		return fmt.Errorf("beginning a new epoch: %w", err)
	}
	return fmt.Errorf("%w: %w", found, errEpochBegun)
}

// reached returns the last sequence that the sink applied: it may have died
// before it recorded how far it was.
func (f *feed) reached(ctx context.Context, epoch uint32, applied uint64) (uint64, error) {
	taken, err := f.loop.sink.Taken(ctx, f.stream, epoch, applied+1, applied+forkReach)
	for seq := range taken {
		applied = max(applied, seq)
	}
	return applied, err
}

// replaced reports whether another message is now at the sequence of the witness.
func (f *feed) replaced(ctx context.Context, s jetstream.Stream, witness position) (bool, error) {
	if witness.seq == 0 {
		return false, nil
	}
	m, err := s.GetMsg(ctx, witness.seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil && !m.Time.Equal(witness.stored), err
}
