package store_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestSilenceEdges: a capture exactly at the deadline prevents an alert, and one
// a millisecond later does not; a late capture takes none back; a pair fires
// again only after another capture; a pair that was never captured does not
// fire.
func TestSilenceEdges(t *testing.T) {
	w := newWorld(t, 683, 0)
	capture := func(item uint64, at time.Time) {
		w.mark++
		row := obsRow{item: item, site: "gamma.example", ms: at.UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.Unavailable, price: -1}
		w.rows = append(w.rows, row)
		w.write([]obsRow{row})
		w.setMark(w.mark)
	}
	l := w.listens(accountWhole, query.ResultsRequest{Site: "gamma.example"}, time.Hour)
	hear := func(want ...contracts.ItemID) {
		t.Helper()
		got, token, err := w.alerts(l.account, l.token, 1) // several fall silent at the same time
		must.Do(t, err)
		var items []contracts.ItemID
		for _, a := range got {
			items = append(items, a.ItemID)
		}
		equals.Slices(t, want, items, "at %s: items fell silent", w.now.Format(time.TimeOnly))
		l.token = token
	}
	began := w.now
	for item := range uint64(3) {
		capture(item+1, began)
	}
	capture(1, began.Add(time.Hour)) // dated ahead
	capture(2, began.Add(time.Hour+time.Millisecond))
	w.now = began.Add(time.Hour - time.Millisecond)
	hear()
	w.now = began.Add(time.Hour)
	hear(2, 3)
	w.now = began.Add(time.Hour + 10*time.Minute)
	capture(3, began.Add(30*time.Minute)) // late: the alert was given
	hear()
	w.now = began.Add(90 * time.Minute)
	hear(3) // after the late one
	w.now = began.Add(100 * time.Minute)
	capture(4, began) // after its own deadline
	hear()
	w.now = began.Add(3 * time.Hour)
	capture(1, w.now)
	hear(1, 2)
	w.now = began.Add(10 * time.Hour)
	hear(1)
	w.now = began.Add(200 * time.Hour) // more than a page judges
	hear()
}
