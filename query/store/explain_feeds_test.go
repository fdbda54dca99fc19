package store_test

import (
	"context"
	"errors"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/alert"
)

// TestExplainedFeeds: explanations of changes, alerts and windows count the
// pairs that their caller sees, one time for a snapshot; those of windows bound
// the rows that are counted.
func TestExplainedFeeds(t *testing.T) {
	w := newWorld(t, 77, 2_000)
	w.reports()
	asked := w.listen()
	counted, rows := 0, uint64(0)
	for _, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		p := query.Principal{Account: a}
		for _, of := range []query.ResultsRequest{{}, {Site: "alpha.example"}, {ItemID: 3}, {ItemID: 4, Site: "gamma.example"}, {Site: "none.example"}} {
			want := uint64(0)
			for item := contracts.ItemID(1); item <= 6; item++ {
				for _, site := range worldSites {
					pair := contracts.Pair{Item: item, Site: contracts.SiteKey(site)}
					if w.sees(a, pair) && (of.ItemID == 0 || of.ItemID == item) && (of.Site == "" || of.Site == pair.Site) {
						want++
					}
				}
			}
			windows := query.WindowsRequest{Rows: of}
			windows.Rows.CapturedFrom = "2026-02-20"
			windows.Rows.GlobalScope = of == query.ResultsRequest{}
			if windows.Rows.GlobalScope {
				windows.Rows.CapturedTo = "2026-02-26"
			}
			var last query.Explanation
			for name, read := range map[string]func(context.Context) error{
				"changes": func(ctx context.Context) error {
					_, err := w.service.Feed(ctx, p, query.FeedRequest{Rows: of})
					return err
				},
				"alerts": func(ctx context.Context) error {
					_, err := w.service.Feed(ctx, p, query.FeedRequest{Rows: of, Alerts: true, Rule: &alert.Rule{Kind: alert.OutOfStock, Confirm: 1}})
					return err
				},
				"windows": func(ctx context.Context) error { _, err := w.service.Windows(ctx, p, windows); return err },
			} {
				var e query.Explanation
				if err := read(query.Explain(t.Context(), &e)); !errors.Is(err, query.ErrExplained) {
					t.Fatalf("account %s, %+v: %s: %v", a, of, name, err)
				}
				if e.Pairs == nil || *e.Pairs != want {
					t.Errorf("account %s, %+v: %s have %d pairs, want %d", a, of, name, *e.Pairs, want)
				}
				if name == "windows" {
					last = e
				}
			}
			counted += len(asked.take("count_pairs"))
			page := must.Get(w.service.Windows(t.Context(), p, windows))(t)
			n := uint64(0)
			for _, window := range page.Data {
				n += window.Rows
			}
			if rows += n; last.Scanned == nil || *last.Scanned < n || *last.Rows != uint64(len(page.Data)) {
				t.Errorf("account %s, %+v: %d windows with %d rows, explained %+v", a, of, len(page.Data), n, last)
			}
		}
	}
	if counted == 0 || counted > 5*5 {
		t.Errorf("pairs were counted %d times", counted)
	}
	if rows < 100 {
		t.Errorf("only %d rows", rows)
	}
}
