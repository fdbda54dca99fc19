package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/table"
	"preismon/query/table/tabletest"
)

// tableStream collects a stream as a table. Other reads need all of the node's
// memory during its first chunks.
type tableStream struct {
	*tabled
	node      *admission.Node // nil: no others
	disturbed int
}

func (s *tableStream) Send(text []byte, rows int) error {
	if err := s.tabled.Send(text, rows); err != nil {
		return err
	}
	if s.node == nil || s.disturbed == 4 {
		return nil
	}
	s.disturbed++
	ctx, cancel := context.WithTimeout(admission.WithAccount(context.Background(), 8), 20*time.Second)
	defer cancel()
	read, err := s.node.Begin(ctx, false, 0)
	if err != nil {
		return err
	}
	defer read.End()
	stats := s.node.Stats()
	room, err := read.Reserve(ctx, stats.Memory-stats.Standing)
	if err == nil {
		room.Release()
	}
	return err
}

// TestTablesOverReclaimedBlocks: the node reclaims blocks in mid-stream, within
// batches of dictionaries and within a row group, and the table has each row
// once, as one that was left alone.
func TestTablesOverReclaimedBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 21, 2000)
	w.cfg.PairRows, w.cfg.SliceRows = 1<<30, 400 // not by pair, in several slices
	w.exec("ALTER TABLE observations_by_mandate UPDATE title = repeat(concat(toString(seq), ' Marker '), 1200) WHERE 1 SETTINGS mutations_sync = 2")
	w.listen()
	include := query.Include{ExportFields: true}
	request := query.ResultsRequest{OrderID: orderA, CapturedFrom: "2026-01-01", Include: include}
	for _, form := range tableForms[len(tableForms)-effort.Often(2, len(tableForms)):] {
		t.Run(form.name, func(t *testing.T) {
			var tables [2][]tabletest.Record
			before := w.service.Admission().Stats().Reclaimed
			for i := range tables {
				s := &tableStream{tabled: form.collect(include, table.Descending)}
				if i == 1 {
					s.node = w.service.Admission()
				}
				must.Do(t, w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, request, s))
				tables[i] = must.Get(s.records())(t)
				if len(tables[i]) != s.rows || s.rows < 500 {
					t.Fatalf("%d rows of %d", len(tables[i]), s.rows)
				}
			}
			if n := w.service.Admission().Stats().Reclaimed - before; n < 4 {
				t.Errorf("%d times memory was reclaimed", n)
			}
			if !reflect.DeepEqual(tables[0], tables[1]) {
				t.Errorf("the tables differ: %d rows, and %d", len(tables[0]), len(tables[1]))
			}
		})
	}
}
