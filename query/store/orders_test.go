package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestQualityMatchesOracle draws orders, schedules, counters and memberships,
// walks their quality, and compares each pair, the summaries, the lists, the
// status of sites and the intervals of a product with a look at every row: VIS-02, ORD-00a, ORD-K1, QUAL-K1,
// QUAL-00a, QUAL-00b, QUAL-02a, QUAL-02b, QUAL-03, QUAL-04, QUAL-05, QUAL-06,
// VIS-05, CUR-02.
func TestQualityMatchesOracle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 11, 0)
	w.reports()
	w.insertAges(rand.New(rand.NewPCG(4, 2)))
	w.setMark(w.mark)
	start := w.now
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	met := map[string]int{}
	effort.CheckOften(t, 8, 50, func(rt *rapid.T) {
		w.now = start.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 11, 12, 30, 90}).Draw(rt, "now")) * time.Hour)
		rows := w.drawOrders(rt)
		a := rapid.SampledFrom(accounts).Draw(rt, "account")
		limit := rapid.SampledFrom([]int{2, 5, 100}).Draw(rt, "limit")
		site := contracts.SiteKey(rapid.SampledFrom([]string{"", "", "gamma.example", "none.example"}).Draw(rt, "site"))
		reason := rapid.SampledFrom(append(slices.Repeat([]string{""}, 4), reasons...)).Draw(rt, "reason")
		id := rapid.SampledFrom([]contracts.OrderID{orderA, orderA, orderB, orderB, orderC, orderEnded}).Draw(rt, "order")
		want := []entry{}
		for _, p := range w.pairsOf(a, id) {
			if e := w.qualityOracle(rows[id], p); (site == "" || p.Site == site) && (reason == "" || e.Reason == reason) {
				want = append(want, e)
			}
		}
		got, err := w.walkQuality(a, query.QualityRequest{Limit: &limit, OrderID: id, Site: site, ReasonCode: reason})
		switch {
		case !slices.Contains(w.ordersOf(a), id):
			if fault.KindOf(err) != fault.NotFound || err == nil {
				rt.Fatalf("account %d reads order %d: %v, %v", a, id, got, err)
			}
		case err != nil:
			rt.Fatalf("order %d: %v", id, err)
		default:
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("account %d, order %+v (-want +got):\n%s", a, rows[id], diff)
			}
		}
		w.checkOrders(rt, a, limit, rows, met)
		w.checkSiteStatus(rt, a, rows, met)
		w.checkIntervals(rt, a, rows)
	})
	t.Log(met)
	for _, r := range append([]string{"late", "next", "never", "no interval", "not found"}, reasons...) {
		if met[r] == 0 {
			t.Errorf("%s was never met: %v", r, met)
		}
	}
}

func (w *world) walkQuality(a contracts.AccountID, r query.QualityRequest) ([]entry, error) {
	all := []entry{}
	for {
		page, err := w.service.ObservationQuality(context.Background(), query.Principal{Account: a}, r)
		if err != nil {
			return nil, err
		}
		for _, q := range page.Data {
			e := entry{q.Item, q.Site, q.Reason.String(), q.ConfiguredObservations, q.ExpectedProcessedByNow, q.SourceCountsConsistent, ""}
			if !q.LastCapturedAt.IsZero() {
				e.Last = q.LastCapturedAt.UTC().Format(time.RFC3339Nano)
			}
			all = append(all, e)
		}
		if page.Paging.NextCursor == "" {
			return all, nil
		}
		if len(page.Data) > *r.Limit {
			return nil, fmt.Errorf("a page of %d", len(page.Data))
		}
		r.Cursor = page.Paging.NextCursor
	}
}

// checkOrders compares the list of orders and each detail with the oracle.
func (w *world) checkOrders(rt *rapid.T, a contracts.AccountID, limit int, rows map[contracts.OrderID]orderRow, met map[string]int) {
	account := query.Principal{Account: a}
	var ids []contracts.OrderID
	r := query.OrdersRequest{Limit: &limit, IncludeCoverage: true, IncludeMonitoring: true}
	for {
		page, err := w.service.Orders(context.Background(), account, r)
		if err != nil {
			rt.Fatalf("%v", err)
		}
		for _, o := range page.Data {
			ids = append(ids, o.OrderID)
			detail, err := w.service.Order(context.Background(), account, o.OrderID)
			if err != nil {
				rt.Fatalf("order %d: %v", o.OrderID, err)
			}
			if diff := cmp.Diff(o, *detail); diff != "" {
				rt.Fatalf("list and detail differ: %s", diff)
			}
			var counts [8]int
			consistent, sites := true, []contracts.SiteKey{}
			for _, p := range w.pairsOf(a, o.OrderID) {
				e := w.qualityOracle(rows[o.OrderID], p)
				counts[slices.Index(reasons, e.Reason)]++
				met[e.Reason]++
				consistent = consistent && e.Consistent
				if !slices.Contains(sites, p.Site) {
					sites = append(sites, p.Site)
				}
			}
			slices.Sort(sites)
			if diff := cmp.Diff(counts, [8]int(o.Quality.Pairs)); diff != "" || o.Quality.SourceCountsConsistent != consistent {
				rt.Fatalf("order %d: consistent %v, want %v; %s", o.OrderID, o.Quality.SourceCountsConsistent, consistent, diff)
			}
			if diff := cmp.Diff(sites, o.Monitored); diff != "" { // ORD-01
				rt.Fatalf("order %d: %s", o.OrderID, diff)
			}
			failed := counts[3] + counts[4] + counts[6]
			judged := failed + counts[0] + counts[1] + counts[2]
			health := query.HealthOK
			if judged == 0 {
				health = query.HealthUnknown
			} else if float64(failed) > float64(judged)/10 || !consistent {
				health = query.HealthDegraded
			}
			if got := o.Quality.Health(); got != health {
				rt.Fatalf("order %d: health %s, want %s of %v", o.OrderID, got, health, counts)
			}
		}
		if page.Paging.NextCursor == "" {
			break
		}
		r.Cursor = page.Paging.NextCursor
	}
	if diff := cmp.Diff(w.ordersOf(a), ids); diff != "" {
		rt.Fatalf("orders of account %d: %s", a, diff)
	}
}

// TestRetriesMoveNoCounter captures a pair repeatedly (QUAL-02c).
func TestRetriesMoveNoCounter(t *testing.T) {
	w := newWorld(t, 5, 0)
	counters := []contracts.SiteCounters{{Site: "alpha.example", ConfiguredObservations: 4, ExpectedProcessedByNow: 2, ProcessedObservations: 2}}
	w.writeOrders(orderRow{mandate: mandateOne, order: orderA, active: true, created: w.now.AddDate(0, -1, 0), interval: 60, counters: counters})
	var again []obsRow
	for seq := range uint64(9) { // of item 1, not of item 2
		again = append(again, obsRow{item: 1, site: "alpha.example", ms: w.now.UnixMilli(), epoch: epoch, seq: seq + 1, outcome: contracts.AccessRestricted, price: -1})
	}
	w.write(again)
	got, err := w.walkQuality(accountWhole, query.QualityRequest{Limit: ptr(100), OrderID: orderA, Site: "alpha.example"})
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, reason := range []string{"ACCESS_TEMPORARILY_RESTRICTED", "OVERDUE"} {
		if got[i].Reason != reason || got[i].Configured != 4 || got[i].Expected != 2 || !got[i].Consistent {
			t.Errorf("%+v", got[i])
		}
	}
}

// TestStoreNeverLeavesTheAccount requests orders that the account does not see
// directly from the store, which returns none of their pairs, sites or counts
// (VIS-05).
func TestStoreNeverLeavesTheAccount(t *testing.T) {
	w := newWorld(t, 5, 0)
	a := must.Get(w.store.Access(t.Context(), accountOrder))(t) // orderB
	both := []contracts.OrderID{orderA, orderB, orderC}
	pairs, err := w.store.OrderPairs(t.Context(), a.Visibility, query.OrderPairsQuery{Orders: both, Limit: 100})
	if err != nil || len(pairs) != 6 {
		t.Errorf("%v, %v", pairs, err)
	}
	for _, p := range pairs { // some of them belong to orderA, too
		if !slices.Equal(p.Orders, []contracts.OrderID{orderB}) {
			t.Errorf("%+v", p)
		}
	}
	sites, err := w.store.OrderSites(t.Context(), a.Visibility, both, 100)
	if err != nil || len(sites) != 2 || sites[0].Order != orderB || sites[1].Order != orderB {
		t.Errorf("%v, %v", sites, err)
	}
	size, err := w.store.OrderScope(t.Context(), a.Visibility, both, 100)
	if want := (query.OrderScope{References: 3, Candidates: 6}); err != nil || size != want {
		t.Errorf("%+v, %v", size, err)
	}
	w.writeOrders(orderRow{mandate: mandateOne, order: orderA, active: true, created: w.now, legacy: true, members: map[uint64]string{3: "x"}})
	w.writeOrders(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now, legacy: true, members: map[uint64]string{3: "y"}})
	members, err := w.store.Memberships(t.Context(), a.Visibility, both, []contracts.ItemID{3})
	if diff := cmp.Diff(map[contracts.OrderID]map[contracts.ItemID]contracts.Membership{orderB: {3: {ItemID: 3, Sites: "y"}}}, members); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if none, err := w.store.OrderPairs(t.Context(), a.Visibility, query.OrderPairsQuery{Orders: both[:1], Limit: 100}); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
