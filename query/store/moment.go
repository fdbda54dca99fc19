package store

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"preismon/contracts/event"
	"preismon/query"
)

// moment is how far the tables are.
type moment struct {
	watermark query.Watermark // what every partition has reached; zero until each partition has a checkpoint
	snapshot  query.Snapshot
	// generation rises when rows may have been added or removed at positions
	// that a reader had passed: after a rebuild and after a restore. 0: neither
	// has happened.
	generation uint64
	// floor is the greatest of all partitions: from there on, each has all rows.
	floor int64
	// rows is the number of rows in observations up to the watermark and from
	// the floor on, if there is one partition; 0: not known.
	rows uint64
}

// before reports whether a moment was earlier than another.
func (m *moment) before(n *moment) bool {
	return cmp.Or(cmp.Compare(m.generation, n.generation), m.watermark.Compare(n.watermark)) < 0
}

// checkpoint is a row of moment.sql.
type checkpoint struct {
	stream    string
	partition uint16
	of        uint32
	mark      query.Watermark
	floor     int64
	proven    bool
	rows      uint64
}

// sharedTimeout bounds a statement that many requests may wait for; each waits
// no longer than its own time allows.
const sharedTimeout = 20 * time.Second

// lastMoment is a moment that was read, and what was in the checkpoints before.
type lastMoment struct {
	moment
	written *event.Written
	at      time.Time
}

// lastFor is how long a moment is reused if nothing is known to have changed.
// It bounds the effect of unreported changes: by a projector of an older
// version, or by a person running a statement.
const lastFor = 250 * time.Millisecond

// momentNow returns the current checkpoints. They are not read again while the
// projectors have announced no write since.
func (s *Store) momentNow(ctx context.Context) (none moment, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	var written *event.Written
	if s.written != nil {
		written = s.written(ctx)
	}
	now := time.Now()
	if last := s.last.Load(); last != nil && written != nil && last.written == written && now.Sub(last.at) < lastFor {
		return last.moment, nil
	}
	checkpoints, err := s.readCheckpoints(ctx)
	if err != nil {
		return none, err
	}
	m, err := s.shards.moment(checkpoints)
	if err == nil {
		s.newest.note(&m)
	}
	if err == nil && written != nil && containsWritten(checkpoints, written) {
		s.last.Store(&lastMoment{m, written, now})
	}
	return m, err
}

// newestMoment is the latest of the moments that were read, possibly
// concurrently.
type newestMoment struct{ atomic.Pointer[moment] }

func (n *newestMoment) note(m *moment) {
	for {
		old := n.Load()
		if old != nil && m.before(old) || n.CompareAndSwap(old, m) {
			return
		}
	}
}

func (s *Store) readCheckpoints(ctx context.Context) ([]checkpoint, error) {
	st := render("moment.sql", s.shards, params{})
	st.settings = briefly
	return rows(ctx, s, st, into(func(c *checkpoint) []any {
		return []any{&c.stream, &c.partition, &c.of, &c.mark.Epoch, &c.mark.Seq, &c.floor, &c.proven, &c.rows}
	}))
}

// containsWritten reports whether the tables that were read hold what the projectors
// wrote: a replica may be behind, and the tables may be different ones.
func containsWritten(all []checkpoint, written *event.Written) bool {
	type key struct {
		stream    string
		partition int
	}
	marks := map[key]query.Watermark{}
	for _, c := range all {
		k := key{c.stream, int(c.partition)}
		if marks[k].Compare(c.mark) < 0 {
			marks[k] = c.mark
		}
	}
	for partition, of := range written.Partitions {
		for stream, mark := range of {
			if marks[key{stream, partition}].Compare(query.Watermark{Epoch: mark.Epoch, Seq: mark.Seq}) < 0 {
				return false
			}
		}
	}
	return true
}

func (n shards) moment(all []checkpoint) (m moment, err error) {
	streams := map[string]map[uint16]query.Watermark{"OBSERVATIONS": {}, "CATALOG": {}, "IN_FORCE": {}}
	for _, c := range all {
		if c.stream == "GENERATION" {
			m.generation = max(m.generation, c.mark.Seq)
			continue
		}
		if c.stream == "OBSERVATIONS" {
			if err := n.checkPartitions(c.of); err != nil {
				return m, err
			}
			m.floor = max(m.floor, c.floor)
		}
		if of := streams[c.stream]; of != nil && of[c.partition].Compare(c.mark) < 0 {
			of[c.partition] = c.mark
			if c.stream == "OBSERVATIONS" {
				m.rows = 0
				if c.proven && !n.Several() {
					m.rows = c.rows
				}
			}
		}
	}
	if of := streams["OBSERVATIONS"]; n.all(len(of)) {
		m.watermark = slices.MinFunc(slices.Collect(maps.Values(of)), query.Watermark.Compare)
	}
	if catalog, inForce := streams["CATALOG"], streams["IN_FORCE"]; n.all(len(catalog)) && n.all(len(inForce)) {
		m.snapshot = snapshotOf(m.generation, catalog, inForce)
	}
	return m, nil
}

var snapshotSeed = maphash.MakeSeed()

// snapshotOf identifies the combination of a generation of rows and the given
// positions: what was remembered of another generation is not found again.
func snapshotOf(generation uint64, of ...map[uint16]query.Watermark) query.Snapshot {
	sum := maphash.Comparable(snapshotSeed, generation)
	for i, marks := range of {
		for partition, mark := range marks {
			sum ^= maphash.Comparable(snapshotSeed, struct {
				of        int
				partition uint16
				mark      query.Watermark
			}{i, partition, mark})
		}
	}
	return query.Snapshot(max(sum, 1))
}
