package store

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// moment is how far the tables are.
type moment struct {
	watermark query.Watermark // what every partition has; nothing, before each shard's has any
	snapshot  query.Snapshot
	// generation rises when rows may have come to, or gone from, places that a
	// reader was past: after a rebuild and after a restore. 0: neither ever was.
	generation uint64
}

// checkpoint is a row of moment.sql.
type checkpoint struct {
	stream    string
	partition uint16
	of        uint32
	mark      query.Watermark
}

// sharedTimeout bounds a statement for which many requests may wait, each no
// longer than it has time.
const sharedTimeout = 20 * time.Second

// readMoment asks how far the tables are now.
func (s *Store) readMoment(ctx context.Context) (m moment, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	st := render("moment.sql", s.shards, params{})
	st.settings = briefly
	all, err := rows(ctx, s, st, func(r driver.Rows) (c checkpoint, err error) {
		err = r.Scan(&c.stream, &c.partition, &c.of, &c.mark.Epoch, &c.mark.Seq)
		return c, err
	})
	if err != nil {
		return m, err
	}
	return s.shards.moment(all)
}

func (n shards) moment(all []checkpoint) (m moment, err error) {
	streams := map[string]map[uint16]query.Watermark{"OBSERVATIONS": {}, "CATALOG": {}, "IN_FORCE": {}}
	for _, c := range all {
		if c.stream == "GENERATION" {
			m.generation = max(m.generation, c.mark.Seq)
			continue
		}
		if c.stream == "OBSERVATIONS" {
			if err := n.are(c.of); err != nil {
				return m, err
			}
		}
		if of := streams[c.stream]; of[c.partition].Compare(c.mark) < 0 {
			of[c.partition] = c.mark
		}
	}
	if of := streams["OBSERVATIONS"]; n.all(len(of)) {
		m.watermark = slices.MinFunc(slices.Collect(maps.Values(of)), query.Watermark.Compare)
	}
	if catalog, inForce := streams["CATALOG"], streams["IN_FORCE"]; n.all(len(catalog)) && n.all(len(inForce)) {
		m.snapshot = snapshotOf(catalog, inForce)
	}
	return m, nil
}

var snapshotSeed = maphash.MakeSeed()

// snapshotOf names what the places say together.
func snapshotOf(of ...map[uint16]query.Watermark) query.Snapshot {
	var sum uint64
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
