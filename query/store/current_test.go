package store_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestCurrentReads: the newest observations of a window are the same whether
// they are read from their own table or from all rows, however many of them are
// followed by some that came after the watermark, or after the window.
func TestCurrentReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 65, 0)
	w.crowded(rand.New(rand.NewPCG(6, 5)), 300)
	for item := range uint64(6) { // the last ones, which a filter leaves out
		w.capture(1+item, "market.example", time.Duration(item)*time.Minute, contracts.Unavailable)
	}
	v := query.Visibility{Mandate: mandateTwo, Versions: []uint64{7}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	rows := 0
	for _, back := range []uint64{0, 1, 6, 100} {
		for _, ago := range []time.Duration{0, time.Hour, 30 * time.Hour} {
			for _, outcomes := range [][]contracts.Outcome{nil, {contracts.PriceObserved}} {
				for n, latest := range []query.Latest{query.NewestRow, query.NewestWhole} {
					q := query.ResultsQuery{
						Latest: latest, Outcomes: outcomes, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark - back}, Standing: true,
						Window: contracts.Window{From: w.now.Add(-48 * time.Hour), To: w.now.Add(-ago)}, Limit: []int{0, 4}[(n+int(back))%2], Ascending: ago == time.Hour,
					}
					want := must.Get(resultTexts(t.Context(), w.store, v, q))(t)
					q.Current = true
					got, err := resultTexts(t.Context(), w.store, v, q)
					if diff := gocmp.Diff(want, got); err != nil || diff != "" {
						t.Errorf("%+v: %v (-of all rows +current):\n%s", q, err, diff)
					}
					rows += len(want)
				}
			}
		}
	}
	if rows < 200 {
		t.Errorf("%d rows are too few to tell anything", rows)
	}
}

// TestCurrentReadsAreTriedFirst: a read of newest observations whose window ends now
// takes one statement, and a second one only where something came later. A window
// that ended a while ago is read from all rows.
func TestCurrentReadsAreTriedFirst(t *testing.T) {
	w := newWorld(t, 66, 0)
	w.crowded(rand.New(rand.NewPCG(6, 6)), 100)
	w.setMark(w.mark)
	asked := w.listen()
	statements := func(ago time.Duration) int {
		t.Helper()
		asked.take()
		page, err := w.service.Results(t.Context(), query.Principal{Account: accountOther}, query.ResultsRequest{
			LatestPerPair: true, Site: "market.example", CapturedFrom: w.now.Add(-48 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Add(-ago).Format(time.RFC3339),
		})
		if err != nil || page.Rows.Len() == 0 {
			t.Fatal(err)
		}
		page.Rows.Release()
		return len(asked.take("results"))
	}
	equals.Is(t, 1, statements(0), "statements")
	seen := w.mark
	w.capture(5, "market.example", 0, contracts.Unavailable)
	w.mark = seen
	w.exec("TRUNCATE TABLE checkpoints")
	w.setMark(seen)
	equals.Is(t, 2, statements(0), "statements where one came later")
	equals.Is(t, 1, statements(6*time.Minute), "statements of a window that is over")
}
