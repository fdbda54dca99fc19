package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream with replicas is answered for by several servers, each of which may
// be late: what one of them has exists, what it lacks may be on its way. So two
// replies together prove nothing, for example one with the end of the stream
// and one saying that nothing is pending for a consumer. One reply about one
// server does prove something: the server stores messages in order, so it has
// all before the last one that it has.

// quorumHeard is how long ago at most a leader must have heard from enough
// followers: no follower elects another until it has heard nothing for four
// seconds.
const quorumHeard = 2 * time.Second

// settled reports whether the leader that answered certainly leads. A leader
// that was cut off from the others also answers, until it notices.
func settled(info *jetstream.StreamInfo) bool {
	c := info.Cluster
	if c == nil || len(c.Replicas) == 0 {
		return true
	}
	heard := 1 // from itself
	for _, r := range c.Replicas {
		if !r.Offline && r.Active < quorumHeard {
			heard++
		}
	}
	return c.Leader != "" && heard > (len(c.Replicas)+1)/2
}

// settleWait is how long to wait for a leader that certainly leads.
const settleWait = 20 * time.Second

// settledInfo returns a stream's state from a leader that certainly leads.
func settledInfo(ctx context.Context, s jetstream.Stream) (*jetstream.StreamInfo, error) {
	for began := time.Now(); ; {
		info, err := s.Info(ctx)
		if err != nil || settled(info) {
			return info, err
		}
		if time.Since(began) > settleWait {
			return nil, fmt.Errorf("stream %s has no leader that hears of a majority of its replicas", info.Config.Name)
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}

// walkReach is how many messages of other subjects are checked, one by one.
const walkReach = 256

// absent proves that the stream has no message of the subject from first to
// through; through is first-1 when nothing is proved. found: there is one after
// through, within the range.
func absent(ctx context.Context, s jetstream.Stream, subject string, first, last uint64) (through uint64, found bool, err error) {
	if first > last {
		return last, false, nil
	}
	m, err := s.GetMsg(ctx, first, jetstream.WithGetMsgSubject(subject))
	switch {
	case err == nil && m.Sequence > last:
		return last, false, nil
	case err == nil:
		return m.Sequence - 1, true, nil
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return first - 1, false, err
	}
	// The server has none. One reply shows whether it has the messages around
	// the range.
	info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return first - 1, false, err
	}
	last = min(last, info.State.LastSeq)
	walked := 0
	for seq := max(first, info.State.FirstSeq); seq <= last; seq++ {
		if _, gone := slices.BinarySearch(info.State.Deleted, seq); gone {
			continue
		}
		if walked++; walked > walkReach {
			return seq - 1, false, nil
		}
		m, err := s.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return seq - 1, false, nil // it may be on its way to the server that answered
		}
		if err != nil {
			return seq - 1, false, err
		}
		if matches(subject, m.Subject) {
			return seq - 1, true, nil
		}
	}
	return max(last, first-1), false, nil
}

// matches reports whether a filter matches a subject.
func matches(filter, subject string) bool {
	for {
		want, filters, more := strings.Cut(filter, ".")
		have, subjects, others := strings.Cut(subject, ".")
		switch {
		case want == ">":
			return true
		case want != "*" && want != have || more != others:
			return false
		case !more:
			return true
		}
		filter, subject = filters, subjects
	}
}

// gap is a range of sequences that a consumer passed over, both included.
type gap struct{ first, last uint64 }

var (
	errPassedOver = errors.New("the consumer passed over a message that the stream has")
	errUnproven   = errors.New("the stream does not tell whether it has what the consumer passed over")
)

// provers is how many gaps are checked concurrently.
const provers = 16

// proveWait is how long a gap may stay unproven while servers are late.
const proveWait = 10 * time.Second

// prove checks that the stream has no message of the subject in these gaps.
func prove(ctx context.Context, s jetstream.Stream, subject string, gaps []gap) error {
	if len(gaps) == 0 {
		return nil
	}
	slots, errs := make(chan struct{}, provers), make(chan error, len(gaps))
	for _, g := range gaps {
		slots <- struct{}{}
		go func() {
			errs <- proveOne(ctx, s, subject, g)
			<-slots
		}()
	}
	var all error
	for range gaps {
		all = errors.Join(all, <-errs)
	}
	return all
}

func proveOne(ctx context.Context, s jetstream.Stream, subject string, g gap) error {
	var last error
	for began := time.Now(); time.Since(began) < proveWait; {
		through, found, err := absent(ctx, s, subject, g.first, g.last)
		switch {
		case through >= g.last:
			return nil
		case found:
			return fmt.Errorf("sequence %d: %w", through+1, errPassedOver)
		}
		g.first, last = through+1, err
		if !sleep(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("sequences %d to %d: %w", g.first, g.last, errors.Join(errUnproven, last))
}
