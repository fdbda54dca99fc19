package store_test

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
)

// ledger is a store in memory: the accounts and pairs of a world, without rows.
// The measured size of a scope is multiplied by a factor, so that a small
// market reaches limits of thousands.
type ledger struct {
	query.Store // nil: in memory; otherwise the store that answers, with only its measures changed
	w           *world
	access      map[contracts.AccountID]*query.Access
	factor      uint64
	slow        bool // each read of results runs out of time
}

func (l *ledger) Access(_ context.Context, a contracts.AccountID) (*query.Access, error) {
	now := *l.access[a]
	now.Watermark = query.Watermark{Epoch: epoch, Seq: l.w.mark}
	return &now, nil
}

func (l *ledger) pairs(v query.Visibility, sel query.Selectors) []contracts.Pair {
	for account, a := range l.access {
		if reflect.DeepEqual(a.Visibility, v) {
			return l.w.pairsUnder(account, sel)
		}
	}
	panic("nobody sees this")
}

func (l *ledger) CountPairs(ctx context.Context, v query.Visibility, sel query.Selectors) (size query.ScopeSize, err error) {
	if l.Store != nil {
		size, err = l.Store.CountPairs(ctx, v, sel)
	} else {
		sites, items := map[contracts.SiteKey]bool{}, map[contracts.ItemID]bool{}
		for _, p := range l.pairs(v, sel) {
			size.Pairs++
			sites[p.Site], items[p.Item] = true, true
		}
		size.Items, size.Sites = uint64(len(items)), uint64(len(sites))
	}
	size.Pairs *= l.factor
	size.Items *= l.factor * 40 // so that some newest sets are within their limit where pairs exceed theirs
	if sel.Site != "" {         // at one site, a pair is an item
		size.Items = size.Pairs
	}
	return size, err
}

func (l *ledger) PairsBySite(ctx context.Context, v query.Visibility, sel query.Selectors) (map[contracts.SiteKey]uint64, error) {
	if l.Store != nil {
		pairs, err := l.Store.PairsBySite(ctx, v, sel)
		for site := range pairs {
			pairs[site] *= l.factor
		}
		return pairs, err
	}
	all := map[contracts.SiteKey]uint64{}
	for _, p := range l.pairs(v, sel) {
		all[p.Site] += l.factor
	}
	return all, nil
}

func (l *ledger) ScopeItems(ctx context.Context, v query.Visibility, sel query.Selectors, limit int) ([]contracts.ItemID, error) {
	if l.Store != nil {
		return l.Store.ScopeItems(ctx, v, sel, limit)
	}
	all := map[contracts.ItemID]bool{}
	for _, p := range l.pairs(v, sel) {
		all[p.Item] = true
	}
	ids := slices.Sorted(maps.Keys(all))
	return ids[:min(limit, len(ids))], nil
}

func (l *ledger) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	switch {
	case l.slow:
		return fault.Wrap(context.DeadlineExceeded, fault.Timeout, "slow")
	case l.Store != nil:
		return l.Store.Results(ctx, v, q, each)
	}
	return nil
}

// question is a random request, under random limits, with the window that it
// means.
type question struct {
	query.ResultsRequest
	account  contracts.AccountID
	from, to int64
	guard    query.Config
	factor   uint64
	slow     bool
}

func (w *world) drawQuestion(r *rand.Rand) question {
	oneOf := func(n ...int) int { return n[r.IntN(len(n))] }
	q := question{
		account: []contracts.AccountID{accountWhole, accountWhole, accountOther, accountOrder, accountSites, accountNone}[r.IntN(6)],
		factor:  uint64(oneOf(1, 1, 60, 90, 130, 210, 340, 1100)), slow: r.IntN(3) == 0,
	}
	q.guard = query.Defaults()
	q.guard.CursorKey = "0123456789abcdef0123456789abcdef"
	if r.IntN(2) == 0 {
		q.guard.ScanGuardMaxPairs = oneOf(0, 1, 2, 3, 4, 8) * int(q.factor)
		q.guard.ScanGuardMaxHours = oneOf(0, 1, 5, 24, 24, 50, 100, 1000)
	}
	req := &q.ResultsRequest
	req.Limit, req.Sort, req.Timezone = ptr(1000), []string{"", "asc", "desc"}[r.IntN(3)], []string{"", "Europe/Berlin"}[r.IntN(2)]
	req.Include.Identity = r.IntN(4) == 0
	req.Site = contracts.SiteKey([]string{"", "", "", "", "gamma.example", "none.example"}[r.IntN(6)])
	req.OrderID = contracts.OrderID(oneOf(0, 0, 0, 0, 101, 102, 201))
	req.EAN = []string{"", "", "", "", "4006381333931", "96385074"}[r.IntN(6)]
	req.ItemID = contracts.ItemID(oneOf(0, 0, 0, 0, 0, 3, 4))
	switch r.IntN(8) {
	case 0:
		req.Brand = "A"
	case 1:
		req.Merchant = "Merchant 1's \\ shop"
	case 2:
		req.CoverageState = "PRICE_OBSERVED"
	}
	switch r.IntN(5) {
	case 0:
		req.LatestObservationPerPair = true
	case 1, 2:
		req.LatestPerPair = true
	}
	w.drawLongWindow(r, &q)
	return q
}

// drawLongWindow gives a question no bound, one or two bounds, some of them
// dates.
func (w *world) drawLongWindow(r *rand.Rand, q *question) {
	none := q.OrderID == 0 && q.EAN == "" && q.ItemID == 0 && q.Site == ""
	now := w.now.UnixMilli()
	kind := r.IntN(6)
	hours := []int{1, 2, 13, 24, 25, 100, 168, 169, 336, 1000, 3000, 20_000}[r.IntN(12)]
	to := w.now.Add(-time.Duration(r.IntN(300)) * time.Hour)
	from := to.Add(-time.Duration(hours)*time.Hour + time.Duration(r.IntN(3)-1)*time.Millisecond)
	switch kind {
	case 0:
		q.from, q.to = math.MinInt64, math.MaxInt64
		if !q.LatestPerPair && !q.LatestObservationPerPair {
			if q.from, q.to = now-24*3600_000, now; q.ItemID != 0 || q.EAN != "" {
				q.from = now - 168*3600_000
			}
		}
		return
	case 1:
		q.CapturedFrom, q.from, q.to = from.Format(time.RFC3339Nano), from.UnixMilli(), now
		return
	case 2:
		q.CapturedTo, q.from, q.to = to.Format(time.RFC3339Nano), math.MinInt64, to.UnixMilli()
		return
	case 3:
		zone := must.Get(contracts.LoadZone([]string{"UTC", q.Timezone}[min(1, len(q.Timezone))]))(w.t)
		q.CapturedFrom, q.CapturedTo = from.Format(time.DateOnly), to.Format(time.DateOnly)
		lower, _ := contracts.ParseLower(q.CapturedFrom, zone)
		upper, _ := contracts.ParseUpper(q.CapturedTo, zone)
		q.from, q.to = lower.UnixMilli(), upper.UnixMilli()
	default:
		q.CapturedFrom, q.CapturedTo = from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano)
		q.from, q.to = from.UnixMilli(), to.UnixMilli()
	}
	q.GlobalScope = none && r.IntN(3) > 0
}

// TestAttemptsCoverWhatWasRefused has random queries refused under random
// limits: each attempt is accepted, and the rows of all attempts are those that
// the query requests, each once, in order where one window was cut. The first
// 100 with few attempts, or 12, are also run in ClickHouse: RES-10a to RES-10d,
// RES-12, MCP-16b, GEN-G1 to GEN-G4.
func TestAttemptsCoverWhatWasRefused(t *testing.T) {
	w := newWorld(t, 93, 700)
	access := map[contracts.AccountID]*query.Access{}
	for _, account := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		var err error
		if access[account], err = w.store.Access(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	refusals, asksOfClickHouse := effort.Often(400, 1000), effort.Often(12, 100)
	asked := 0
	ways := map[string]int{}
	for n, seed := 0, uint64(0); n < refusals; seed++ {
		q := w.drawQuestion(rand.New(rand.NewPCG(seed, 93)))
		serve := func(st query.Store, slow bool) *query.Service {
			s := must.Get(query.New(q.guard, &ledger{Store: st, w: w, access: access, factor: q.factor, slow: slow}, func() time.Time { return w.now }))(t)
			return s
		}
		p := query.Principal{Account: q.account}
		service := serve(nil, q.slow)
		_, refused := service.Results(t.Context(), p, q.ResultsRequest)
		if refused == nil {
			continue
		}
		n++
		attempts, err := service.Attempts(t.Context(), p, q.ResultsRequest, refused)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		way := w.checkAttempts(t, serve(nil, false), q, attempts)
		ways[refusal(refused).Code+": "+way]++
		if asked == asksOfClickHouse || len(attempts) == 0 || len(attempts) > 10 {
			continue
		}
		asked++
		real := serve(w.store, false)
		again, err := real.Attempts(t.Context(), p, q.ResultsRequest, refused)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if diff := cmp.Diff(attempts, again); diff != "" {
			t.Fatalf("%+v: in memory and of ClickHouse:\n%s", q, diff)
		}
		w.checkRows(t, real, q, attempts)
	}
	if asked < asksOfClickHouse {
		t.Errorf("ClickHouse was asked about %d refusals", asked)
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		t.Logf("%4d %s", ways[way], way)
	}
	for _, way := range []string{
		"RESULTS_SCOPE_TOO_BROAD: windows", "RESULTS_SCOPE_TOO_BROAD: sites", "RESULTS_SCOPE_TOO_BROAD: items",
		"RESULTS_QUERY_TIMEOUT: windows", "RESULTS_QUERY_TIMEOUT: sites", "RESULTS_QUERY_TIMEOUT: items",
		"RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD: sites", "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD: items", "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD: newest sets",
		"MVP_VALIDATION_ERROR: sites", "MVP_VALIDATION_ERROR: windows of sites",
	} {
		if ways[way] < effort.Often(1, 3) {
			t.Errorf("%d refusals of the kind %s", ways[way], way)
		}
	}
}

// checkAttempts judges attempts by a look at every row, and returns their kind.
func (w *world) checkAttempts(t *testing.T, service *query.Service, q question, attempts []query.ResultsRequest) string {
	t.Helper()
	if len(attempts) == 0 {
		return "none"
	}
	if len(attempts) > 60 {
		t.Fatalf("%+v: %d attempts", q, len(attempts))
	}
	var rows []obsRow
	sites, items, windows := map[contracts.SiteKey]bool{}, map[contracts.ItemID]bool{}, map[[2]string]bool{}
	superset := false
	for _, a := range attempts {
		page, err := service.Results(t.Context(), query.Principal{Account: q.account}, a)
		if err != nil {
			t.Fatalf("%+v:\nnot accepted: %+v: %v", q, a, err)
		}
		from, to := bound(t, page.Query.CapturedFrom, math.MinInt64), bound(t, page.Query.CapturedTo, math.MaxInt64)
		rows = append(rows, w.oracle(q.account, a, from, to, w.rows)...)
		sites[a.Site], items[a.ItemID], windows[[2]string{a.CapturedFrom, a.CapturedTo}] = true, true, true
		superset = superset || a.LatestObservationPerPair && q.LatestPerPair
		kept := a
		kept.Site, kept.ItemID, kept.GlobalScope, kept.CapturedFrom, kept.CapturedTo = q.Site, q.ItemID, q.GlobalScope, q.CapturedFrom, q.CapturedTo
		if superset {
			kept.LatestPerPair, kept.LatestObservationPerPair = true, false
		}
		if diff := cmp.Diff(q.ResultsRequest, kept); diff != "" {
			t.Fatalf("not kept (-asked +attempt):\n%s", diff)
		}
		if a.Site != "" && len(w.pairsUnder(q.account, query.Selectors{Site: a.Site})) == 0 && a.Site != q.Site {
			t.Fatalf("%+v: site %s is not visible", q, a.Site)
		}
	}
	want := w.oracle(q.account, q.ResultsRequest, q.from, q.to, w.rows)
	times := map[obsRow]int{}
	for _, row := range rows {
		times[row]++
	}
	for _, row := range want {
		if times[row] != 1 {
			t.Fatalf("%+v:\n%+v is %d times in the rows of\n%+v", q, row, times[row], attempts)
		}
	}
	if len(times) != len(rows) || !superset && len(rows) != len(want) {
		t.Fatalf("%+v: %d rows, %d different, want %d, of\n%+v", q, len(rows), len(times), len(want), attempts)
	}
	if !superset && len(sites) == 1 && len(items) == 1 && !slices.Equal(rows, want) {
		t.Fatalf("%+v: the rows of the attempts, one after the other, are not in order", q)
	}
	switch {
	case superset:
		return "newest sets"
	case len(items) > 1:
		return "items"
	case len(sites) > 1 && len(windows) > 1:
		return "windows of sites"
	case len(sites) > 1 || !sites[q.Site]:
		return "sites"
	}
	return "windows"
}

// checkRows reads the attempts.
func (w *world) checkRows(t *testing.T, service *query.Service, q question, attempts []query.ResultsRequest) {
	t.Helper()
	for _, a := range attempts {
		page, err := service.Results(t.Context(), query.Principal{Account: q.account}, a)
		if err != nil {
			t.Fatalf("%+v:\nnot accepted: %+v: %v", q, a, err)
		}
		from, to := bound(t, page.Query.CapturedFrom, math.MinInt64), bound(t, page.Query.CapturedTo, math.MaxInt64)
		want := w.oracle(q.account, a, from, to, w.rows)
		if a.Timezone == "" {
			if diff := cmp.Diff(expected(want), decode(t, &page.Rows)); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", a, diff)
			}
		} else if page.Paging.Returned != len(want) {
			t.Fatalf("%+v: %d rows, want %d", a, page.Paging.Returned, len(want))
		}
	}
}

// bound reads a bound that a response echoes.
func bound(t *testing.T, text *string, open int64) int64 {
	t.Helper()
	if text == nil {
		return open
	}
	at := must.Get(time.Parse(time.RFC3339Nano, *text))(t)
	return at.UnixMilli()
}
