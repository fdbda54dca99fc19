package store

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/admission"
)

// TestBlockedSumsHoldNoOtherStatement: reads of one account, or of four, of
// which no statement is answered, leave the statements of records free, which
// every request needs; and those that are not bounded also those of pages.
func TestBlockedSumsHoldNoOtherStatement(t *testing.T) {
	v := query.Visibility{Mandate: 1, Versions: []uint64{1}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	window := contracts.Window{From: time.UnixMilli(1_000_000), To: time.UnixMilli(2_000_000)}
	rows := query.ResultsQuery{Window: window, Watermark: query.Watermark{Epoch: 1, Seq: 1}}
	edges := []int64{1_000_000, 2_000_000}
	for name, read := range map[string]func(context.Context, *Store) error{
		"statistics": func(ctx context.Context, s *Store) error {
			_, err := s.Statistics(ctx, v, &query.StatisticsQuery{Rows: rows, By: query.ByNothing, Edges: edges, Until: edges[1], Limit: 10})
			return err
		},
		"tally":            func(ctx context.Context, s *Store) error { _, err := s.Tally(ctx, v, &rows); return err },
		"observed by site": func(ctx context.Context, s *Store) error { _, err := s.ObservedBySite(ctx, v, &rows); return err },
		"windows": func(ctx context.Context, s *Store) error {
			_, err := s.Windows(ctx, v, &query.WindowsQuery{Rows: rows, Edges: edges})
			return err
		},
		"rows of the mandate": func(ctx context.Context, s *Store) error { _, err := s.ofMandateAtMost(ctx, v, &rows); return err },
		"pairs of orders": func(ctx context.Context, s *Store) error {
			_, err := s.OrderPairs(ctx, v, query.OrderPairsQuery{Orders: []contracts.OrderID{1}, Limit: 10})
			return err
		},
	} {
		for _, accounts := range []int{1, 4} {
			silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t) // connections are made, and never answered
			node := admission.New(admission.Config{Memory: admission.MinMemory, Statements: 32, Wait: time.Minute})
			cfg := Defaults()
			cfg.DSN, cfg.Admission = contracts.Secret("clickhouse://u@"+silent.Addr().String()+"/db"), node
			s := must.Get(New(cfg))(t)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for i := range 40 {
				running.Go(func() {
					if read(admission.WithAccount(ctx, contracts.AccountID(1+i%accounts)), s) == nil {
						t.Errorf("%s: answered", name)
					}
				})
			}
			now := node.Stats()
			for end := time.Now().Add(4 * time.Second); now.Rows+now.Records+now.Sums+now.StatementsWaiting < 40 && time.Now().Before(end); now = node.Stats() {
				time.Sleep(time.Millisecond)
			}
			sums, rows := 16, 0
			if name == "pairs of orders" {
				sums, rows = 0, 32
			}
			if now.Records != 0 || now.Sums != sums || now.Rows != rows {
				t.Errorf("%s of %d accounts: %+v", name, accounts, now)
			}
			quiet, stop := context.WithTimeout(admission.WithAccount(t.Context(), 50), time.Second)
			for range 32 {
				if _, err := node.Records(quiet); err != nil {
					t.Errorf("%s of %d accounts: a record of another: %v", name, accounts, err)
					break
				}
			}
			stop()
			cancel()
			must.Do(t, silent.Close()) // ends the connections, too
			running.Wait()
			must.Do(t, s.Close())
		}
	}
}
