package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func eventIDs(n shards, positions []query.Watermark) statement {
	p := params{}
	var epochs, seqs []uint64
	for _, at := range positions {
		epochs, seqs = append(epochs, uint64(at.Epoch)), append(seqs, at.Seq)
	}
	uints(p, "epochs", epochs)
	uints(p, "seqs", seqs)
	return render("event_ids.sql", n, p)
}

// EventIDs implements query.Store.
func (s *Store) EventIDs(ctx context.Context, positions []query.Watermark) (map[query.Watermark]string, error) {
	return byKey(ctx, s, eventIDs(s.shards, positions), func(at *query.Watermark, id *string) []any { return []any{&at.Epoch, &at.Seq, id} })
}

// visibleAtOnce is how many positions one statement of VisibleTimes covers.
const visibleAtOnce = 8

func visibleTimes(n shards, positions []query.Watermark) statement {
	p := params{}
	for i, at := range positions {
		p.uint("epoch"+strconv.Itoa(i), uint64(at.Epoch))
		p.uint("seq"+strconv.Itoa(i), at.Seq)
	}
	partitions := make([]int, max(1, n))
	for i := range partitions {
		partitions[i] = i
	}
	return render("visible_times.sql", struct {
		Shards     shards
		Positions  []query.Watermark
		Partitions []int
	}{n, positions, partitions}, p)
}

// reached is when a partition became complete up to a position.
type reached struct {
	at    time.Time // zero: not known
	since bool      // times were already recorded before the position was reached
}

// VisibleTimes implements query.Store.
func (s *Store) VisibleTimes(ctx context.Context, positions []query.Watermark) (map[query.Watermark]time.Time, error) {
	all := map[query.Watermark]time.Time{}
	for some := range slices.Chunk(positions, visibleAtOnce) {
		of := make([]map[uint16]reached, len(some))
		for i := range of {
			of[i] = map[uint16]reached{}
		}
		_, err := rows(ctx, s, visibleTimes(s.shards, some), func(r driver.Rows) (none struct{}, err error) {
			var position, partition uint16
			var behind bool
			var at time.Time
			if err := r.Scan(&position, &partition, &behind, &at); err != nil {
				return none, err
			}
			one := of[position][partition]
			if !behind {
				one.since = true
			} else if one.at.IsZero() || at.Before(one.at) {
				one.at = at
			}
			of[position][partition] = one
			return none, nil
		})
		if err != nil {
			return nil, err
		}
		for i, at := range some {
			if last, known := s.shards.last(of[i]); known {
				all[at] = last
			}
		}
	}
	return all, nil
}

// last returns when the last of all partitions became complete up to a position.
func (n shards) last(of map[uint16]reached) (last time.Time, known bool) {
	for _, one := range of {
		if !one.since || one.at.IsZero() {
			return last, false
		}
		if one.at.After(last) {
			last = one.at
		}
	}
	return last, n.all(len(of))
}
