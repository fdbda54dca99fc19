package ingest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// TestHistory reads back what a stream holds: ranges, headers alone, one
// message, and nothing where there is nothing.
func TestHistory(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	h := ingest.NewHistory(js)
	read := func(r event.ReadRequest) (seqs []uint64, last event.Stored) {
		t.Helper()
		for m, err := range h.Read(t.Context(), r) {
			must.Do(t, err)
			seqs, last = append(seqs, m.Seq), m
		}
		return seqs, last
	}
	if seqs, _ := read(event.ReadRequest{Stream: event.StreamObservations}); len(seqs) > 0 {
		t.Errorf("an empty stream has %v", seqs)
	}
	began := time.Now()
	var all []*event.Event
	for i := range 10 {
		all = append(all, observations(i, 1))
	}
	publish(t, nc, all...)
	publish(t, nc, item(1, 1), item(2, 1), item(1, 2)) // the last replaces the first

	for what, c := range map[string]struct {
		r    event.ReadRequest
		want []uint64
	}{
		"all":         {event.ReadRequest{Stream: event.StreamObservations}, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"a range":     {event.ReadRequest{Stream: event.StreamObservations, First: 3, Last: 5}, []uint64{3, 4, 5}},
		"beyond":      {event.ReadRequest{Stream: event.StreamObservations, First: 9, Last: 50}, []uint64{9, 10}},
		"behind":      {event.ReadRequest{Stream: event.StreamObservations, First: 11}, nil},
		"with a gap":  {event.ReadRequest{Stream: event.StreamCatalog, First: 1, Last: 3}, []uint64{2, 3}},
		"of a record": {event.ReadRequest{Stream: event.StreamCatalog, Subject: "catalog.item.2"}, []uint64{2}},
		"since":       {event.ReadRequest{Stream: event.StreamCatalog, Since: began.Add(-time.Minute)}, []uint64{2, 3}},
		"since later": {event.ReadRequest{Stream: event.StreamCatalog, Since: time.Now().Add(time.Hour)}, nil},
	} {
		if got, _ := read(c.r); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	_, whole := read(event.ReadRequest{Stream: event.StreamObservations, Bodies: true})
	_, head := read(event.ReadRequest{Stream: event.StreamObservations})
	if e, err := event.Decode(whole.Data); err != nil || e.ID != whole.ID || whole.Size != len(whole.Data) {
		t.Errorf("%+v: %v", whole, err)
	}
	if head.Data != nil || head.Size != whole.Size || head.ID != whole.ID || head.At.Before(began) {
		t.Errorf("the head of it is %+v", head)
	}
	one, ok, err := h.At(t.Context(), event.StreamObservations, 10)
	if err != nil || !ok || !cmp.Equal(one.Data, whole.Data) || one.ID != whole.ID {
		t.Errorf("at 10: %+v %v %v", one, ok, err)
	}
	if _, ok, err := h.At(t.Context(), event.StreamCatalog, 1); ok || err != nil {
		t.Errorf("what was replaced is there: %v", err)
	}
	state, err := h.State(t.Context(), event.StreamCatalog)
	if err != nil || state.First != 2 || state.Last != 3 || state.Epoch == 0 || state.Epoch != state.Created || state.After() != 0 {
		t.Errorf("%+v %v", state, err)
	}
}
