package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// moreMandates adds mandates with random pairs, each with an account that sees
// all of them. The tables hold no rows for them yet.
func (w *world) moreMandates(r *rand.Rand, n int) (accounts []contracts.AccountID) {
	w.more = map[contracts.AccountID]contracts.MandateID{}
	into := map[string][]string{}
	for i := range n {
		m, a := contracts.MandateID(31+i), contracts.AccountID(3100+i)
		pairs := map[contracts.Pair][]contracts.OrderID{}
		for len(pairs) < 1+i%7 { // of 24: some are shared, and some belong to one mandate only
			pairs[contracts.Pair{Item: contracts.ItemID(1 + r.IntN(6)), Site: contracts.SiteKey(worldSites[r.IntN(4)])}] = []contracts.OrderID{contracts.OrderID(300 + i)}
		}
		into["scope_pairs"] = append(into["scope_pairs"], scopeRows(m, 7, pairs)...)
		into["scopes"] = append(into["scopes"], fmt.Sprintf("(%d, 7, %d, 6)", m, len(pairs)))
		into["scopes_applied"] = append(into["scopes_applied"], fmt.Sprintf("(%d, 0, 7)", m))
		into["accounts"] = append(into["accounts"], fmt.Sprintf("(%d, %d, 'm%d', 'h', false, false, ['results'], true, [], true, [], 1)", a, m, a))
		w.scopes[m], w.more[a] = pairs, m
		accounts = append(accounts, a)
	}
	for table, rows := range into {
		w.exec("INSERT INTO " + table + " VALUES " + strings.Join(rows, ", "))
	}
	return accounts
}

// TestFeedsOfManyMandatesShareAStatement: tails of different mandates that are
// woken together read with few statements. Each gets its own mandate's rows,
// every row once and in order, with its own window, filters and fields,
// alongside narrowed accounts and tails that leave in the middle.
func TestFeedsOfManyMandatesShareAStatement(t *testing.T) {
	w := newWorld(t, 329, 1)
	r := rand.New(rand.NewPCG(32, 9))
	const mandates, waves = 14, 3
	accounts := append(w.moreMandates(r, mandates), accountWhole, accountOther, accountOrder, accountSites, accountNone)
	w.insert(r, 50, 0)
	w.setMark(w.mark)
	w.cfg.SliceRows = 10_000
	asked := w.listen()
	w.reports()
	const from = "2026-01-01T00:00:00Z"
	requests := []query.ResultsRequest{
		{},
		{Site: "gamma.example", CapturedFrom: from},
		{Site: "market.example", CapturedFrom: from}, // differs only in a value
		{Site: "beta.example", CapturedFrom: from, Include: query.Include{ExportFields: true}},
		{Site: "alpha.example", CapturedFrom: "2026-03-01T00:00:00Z", CapturedTo: "2026-03-07T00:00:00Z", Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}},
	}
	var all []*feeder
	for i, a := range accounts {
		f := &feeder{w: w, account: a, request: requests[i%len(requests)], at: query.Watermark{Epoch: w.epoch, Seq: w.mark}}
		f.begin(t)
		all = append(all, f)
	}
	rows, reads := 0, 0
	for wave := range waves {
		w.insert(r, []int{400, 100, 200}[wave], 0)
		w.setMark(w.mark)
		edge := must.Get(w.service.Await(t.Context(), query.Edge{}, query.Wait{Most: time.Minute}))(t)
		limit := []int{1_000, 5, 1_000}[wave]
		asked.take()
		leaving, leave := context.WithCancel(t.Context())
		var together sync.WaitGroup
		got := make([][]fed, len(all))
		failed := make([]error, len(all))
		for i, f := range all {
			if i%3 == 0 { // another tail of the same mandate, which leaves
				since := f.token
				together.Go(func() {
					p, err := w.service.Feed(leaving, query.Principal{Account: f.account}, query.FeedRequest{Since: since, Lines: true, UpTo: edge})
					if err == nil {
						p.Rows.Release()
					}
				})
			}
			together.Go(func() {
				f.upTo = edge
				got[i], failed[i] = f.follow(t, limit)
			})
		}
		leave()
		together.Wait()
		if limit == 1_000 {
			reads += len(asked.take("feed"))
		}
		for i, f := range all {
			if failed[i] != nil {
				t.Fatalf("wave %d: account %d: %v", wave, f.account, failed[i])
			}
			want := f.expected(f.at, edge.Watermark)
			if diff := gocmp.Diff(positionsOf(want), fedPositions(got[i])); diff != "" {
				t.Fatalf("wave %d: account %d, mandate %d (-want +got):\n%s", wave, f.account, w.more[f.account], diff)
			}
			f.at = edge.Watermark
			rows += len(want)
		}
	}
	t.Logf("%d rows, %d statements in %d waves of %d", rows, reads, 2, len(all))
	if rows < 300 || reads > len(all)*3/2 {
		t.Errorf("%d rows, %d statements", rows, reads)
	}
	for _, f := range all {
		later := map[string]int{}
		f.snapshot(t, later)
		equals.Checkf(t, later, f.rows, "account %d, %+v", f.account, f.request)
	}
}

// positionsOf and fedPositions name rows the same way.
func positionsOf(rows []obsRow) (out []string) {
	for _, r := range rows {
		out = append(out, fmt.Sprint(r.item, " ", r.site, " ", r.ms))
	}
	return out
}

func fedPositions(rows []fed) (out []string) {
	for _, r := range rows {
		at, _ := time.Parse(time.RFC3339, r.CapturedAt)
		out = append(out, fmt.Sprint(r.ItemID, " ", r.Site, " ", at.UnixMilli()))
	}
	return out
}

// TestAFeedThatFailsFailsAlone: a reader that refuses a block, or panics, gets
// its error; the others of its statement get all their rows.
func TestAFeedThatFailsFailsAlone(t *testing.T) {
	w := newWorld(t, 330, 1)
	r := rand.New(rand.NewPCG(32, 10))
	accounts, first := w.moreMandates(r, 12), w.mark
	w.insert(r, 400, 0)
	w.setMark(w.mark)
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	mark := query.Watermark{Epoch: w.epoch, Seq: w.mark}
	refused := errors.New("no more")
	for range 3 {
		var together sync.WaitGroup
		got, failed := make([]int, len(accounts)), make([]error, len(accounts))
		for i, a := range accounts {
			together.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						failed[i] = fmt.Errorf("%v", p)
					}
				}()
				v := query.Visibility{Mandate: w.more[a], Versions: []uint64{7}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
				failed[i] = w.store.Feed(t.Context(), v, &query.FeedQuery{Rows: query.ResultsQuery{Watermark: mark}, Limit: 10_000}, func(b *query.Block) error {
					got[i] += b.Len
					switch i {
					case 3:
						return refused
					case 7:
						panic("in a reader")
					}
					return nil
				})
			})
		}
		together.Wait()
		for i, a := range accounts {
			want := 0
			for _, row := range w.rows {
				if w.sees(a, row.pair()) && row.seq > first {
					want++
				}
			}
			switch {
			case i == 3 && !errors.Is(failed[i], refused), i == 7 && (failed[i] == nil || failed[i].Error() != "in a reader"):
				t.Errorf("account %d: %v", a, failed[i])
			case i != 3 && i != 7 && (failed[i] != nil || got[i] != want):
				t.Errorf("account %d: %d rows of %d, %v", a, got[i], want, failed[i])
			}
		}
	}
}
