package store

import (
	"context"

	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func eventIDs(places []query.Watermark) statement {
	p := params{}
	var epochs, seqs []uint64
	for _, at := range places {
		epochs, seqs = append(epochs, uint64(at.Epoch)), append(seqs, at.Seq)
	}
	uints(p, "epochs", epochs)
	uints(p, "seqs", seqs)
	return render("event_ids.sql", nil, p)
}

// EventIDs implements query.ExtStore.
func (s *Store) EventIDs(ctx context.Context, places []query.Watermark) (map[query.Watermark]string, error) {
	all := map[query.Watermark]string{}
	if s.shards.Several() { // each keeps its own events, and there is no table of all
		return all, nil
	}
	_, err := rows(ctx, s, eventIDs(places), func(r driver.Rows) (none struct{}, err error) {
		var at query.Watermark
		var id string
		err = r.Scan(&at.Epoch, &at.Seq, &id)
		all[at] = id
		return none, err
	})
	return all, err
}
