package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const orderEnded = contracts.OrderID(103) // of mandate one, not active: no pairs

// orderRow is an order as its table has it.
type orderRow struct {
	mandate    contracts.MandateID
	order      contracts.OrderID
	active     bool
	created    time.Time
	interval   uint32
	last, next *time.Time
	counters   []contracts.SiteCounters
	legacy     bool
	members    map[uint64]string
}

var orderVersion uint64

func (w *world) writeOrder(o orderRow) {
	w.t.Helper()
	orderVersion++
	var counters, members []string
	for _, c := range o.counters {
		counters = append(counters, fmt.Sprintf("('%s', %d, %d, %d)", c.Site, c.ConfiguredObservations, c.ExpectedProcessedByNow, c.ProcessedObservations))
	}
	for item, text := range o.members {
		members = append(members, fmt.Sprintf("(%d, '%s')", item, text))
	}
	at := func(t *time.Time) string {
		if t == nil {
			return "NULL"
		}
		return fmt.Sprintf("fromUnixTimestamp64Milli(%d)", t.UnixMilli())
	}
	w.exec(fmt.Sprintf(`INSERT INTO orders (mandate, order_id, alias, name, active, created_at, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships, version)
		VALUES (%d, %d, 'alias %d', 'Order %d', %t, %s, %d, %s, %s, [%s], %t, [%s], %d)`,
		o.mandate, o.order, o.order, o.order, o.active, at(&o.created), o.interval, at(o.last), at(o.next), strings.Join(counters, ", "), o.legacy, strings.Join(members, ", "), orderVersion))
}

var reasons = []string{
	"PRICE_OBSERVED", "PRODUCT_UNAVAILABLE", "PRODUCT_NOT_FOUND", "ACCESS_TEMPORARILY_RESTRICTED", "SITE_TEMPORARILY_UNAVAILABLE", "PENDING", "OVERDUE", "UNKNOWN",
}

// entry is a quality entry as it should be shown.
type entry struct {
	Item                 contracts.ItemID
	Site                 contracts.SiteKey
	Reason               string
	Configured, Expected int
	Consistent           bool
	Last                 string
}

// qualityOracle judges one pair of an order by looking at every row.
func (w *world) qualityOracle(o orderRow, p contracts.Pair) entry {
	e := entry{Item: p.Item, Site: p.Site, Consistent: true}
	counted := false
	for _, c := range o.counters {
		if c.Site != p.Site {
			continue
		}
		if !counted {
			e.Configured, e.Expected = c.ConfiguredObservations, c.ExpectedProcessedByNow
		}
		if c.ProcessedObservations > c.ExpectedProcessedByNow || c.ExpectedProcessedByNow > c.ConfiguredObservations || counted && (c.ConfiguredObservations != e.Configured || c.ExpectedProcessedByNow != e.Expected) {
			e.Consistent = false
		}
		counted = true
	}
	var newest *obsRow
	for i, r := range w.rows {
		if r.pair() == p && (newest == nil || r.ms > newest.ms || r.ms == newest.ms && (r.seq > newest.seq || r.seq == newest.seq && r.capture > newest.capture)) {
			newest = &w.rows[i]
		}
	}
	seen := o.created
	if newest != nil {
		seen = time.UnixMilli(newest.ms)
		e.Last = seen.UTC().Format(time.RFC3339Nano)
	}
	minutes := float64(o.interval)
	if e.Configured > 0 {
		minutes = 24 * 60 / float64(e.Configured)
	}
	date := w.now.UTC().Format(time.DateOnly)
	stale := false
	if e.Expected > 0 && (o.interval == 0 || o.last == nil || o.last.UTC().Format(time.DateOnly) >= date) {
		stale = seen.UTC().Format(time.DateOnly) < date
	} else if minutes > 0 {
		stale = w.now.Sub(seen).Minutes() > 24*60+minutes
	}
	confirmed := !o.legacy
	if o.legacy {
		switch text := strings.ReplaceAll(o.members[uint64(p.Item)], " ", ""); {
		case strings.ContainsAny(text, ";{"), strings.HasSuffix(text, ","):
		default:
			confirmed = slices.Contains(strings.Split(text, ","), string(p.Site))
		}
	}
	switch {
	case !confirmed:
		e.Reason = "UNKNOWN"
	case stale, newest == nil && e.Expected > 0:
		e.Reason = "OVERDUE"
	case newest == nil && (counted || o.interval > 0):
		e.Reason = "PENDING"
	case newest == nil:
		e.Reason = "UNKNOWN"
	default:
		e.Reason = map[contracts.Outcome]string{
			contracts.PriceObserved: "PRICE_OBSERVED", contracts.Unavailable: "PRODUCT_UNAVAILABLE", contracts.ProductNotFound: "PRODUCT_NOT_FOUND",
			contracts.AccessRestricted: "ACCESS_TEMPORARILY_RESTRICTED", contracts.SiteUnavailable: "SITE_TEMPORARILY_UNAVAILABLE", contracts.OutcomeUnknown: "UNKNOWN",
		}[newest.outcome]
	}
	return e
}

// pairsOf gives the pairs of an order that an account sees, in order.
func (w *world) pairsOf(a contracts.AccountID, id contracts.OrderID) (pairs []contracts.Pair) {
	for _, scope := range w.scopes {
		for p, orders := range scope {
			if slices.Contains(orders, id) && w.sees(a, p) && slices.Contains(w.visibleOrders(a, p), id) {
				pairs = append(pairs, p)
			}
		}
	}
	slices.SortFunc(pairs, contracts.Pair.Compare)
	return pairs
}

func (w *world) ordersOf(a contracts.AccountID) []contracts.OrderID {
	switch a {
	case accountOrder:
		return []contracts.OrderID{orderB}
	case accountNone:
		return nil
	case accountOther:
		return []contracts.OrderID{orderC}
	}
	return []contracts.OrderID{orderA, orderB, orderEnded}
}

func drawOrder(t *rapid.T, now time.Time, m contracts.MandateID, id contracts.OrderID) orderRow {
	label := func(s string) string { return fmt.Sprint(s, id) }
	ago := func(what string) *time.Time {
		hours := rapid.SampledFrom([]int{-1, 0, 2, 11, 13, 40}).Draw(t, label(what))
		if hours < 0 {
			return nil
		}
		return ptr(now.Add(-time.Duration(hours) * time.Hour))
	}
	o := orderRow{mandate: m, order: id, active: id != orderEnded}
	o.created = now.Add(-time.Duration(rapid.SampledFrom([]int{1, 1, 30, 2000}).Draw(t, label("created"))) * time.Hour)
	if o.interval = rapid.SampledFrom([]uint32{0, 15, 60, 1440, 1 << 31}).Draw(t, label("interval")); o.interval > 0 {
		o.last = ago("last")
		o.next = ptr(now.Add(time.Hour))
	}
	for _, s := range worldSites {
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, label("counters of "+s)) {
			n := func(what string) int { return rapid.SampledFrom([]int{0, 0, 1, 3, 24}).Draw(t, label(what+s)) }
			o.counters = append(o.counters, contracts.SiteCounters{
				Site: contracts.SiteKey(s), ConfiguredObservations: n("configured"), ExpectedProcessedByNow: n("expected"), ProcessedObservations: 0,
			})
		}
	}
	if o.legacy = rapid.IntRange(0, 3).Draw(t, label("legacy")) == 0; o.legacy {
		o.members = map[uint64]string{}
		for item := range uint64(6) {
			if text := rapid.SampledFrom([]string{"-", "", "alpha.example", "alpha.example, beta.example,gamma.example,market.example", "alpha.example;beta.example", "beta.example,"}).Draw(t, label("member")); text != "-" {
				o.members[item+1] = text
			}
		}
	}
	return o
}

// TestQualityMatchesOracle draws orders, schedules, counters and memberships,
// walks their quality, and compares each pair, the summaries and the lists
// with a look at every row: ORD-00a, ORD-K1, QUAL-K1, QUAL-00a, QUAL-00b,
// QUAL-02a, QUAL-02b, QUAL-03, QUAL-04, QUAL-05, QUAL-06, VIS-05, CUR-02.
func TestQualityMatchesOracle(t *testing.T) {
	w := newWorld(t, 11, 0)
	w.insertAges(rand.New(rand.NewPCG(4, 2)))
	start := w.now
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w.now = start.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 11, 12, 30, 90}).Draw(rt, "now")) * time.Hour)
		rows := map[contracts.OrderID]orderRow{}
		for m, orders := range map[contracts.MandateID][]contracts.OrderID{mandateOne: {orderA, orderB, orderEnded}, mandateTwo: {orderC}} {
			for _, id := range orders {
				rows[id] = drawOrder(rt, w.now, m, id)
				w.writeOrder(rows[id])
			}
		}
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
	})
	t.Log(met)
	for _, r := range reasons {
		if met[r] == 0 {
			t.Errorf("%s was never met: %v", r, met)
		}
	}
}

// insertAges captures most pairs, each the last time at one of some ages, and
// some of them before with other outcomes.
func (w *world) insertAges(r *rand.Rand) {
	var fresh []obsRow
	for item := range uint64(6) {
		for i, site := range worldSites {
			hours := []int{-1, 0, 1, 11, 13, 24, 25, 26, 49, 200}[r.IntN(10)]
			for again := range 2 {
				if hours < 0 {
					break
				}
				w.mark++
				row := obsRow{item: item + 1, site: site, epoch: epoch, seq: w.mark, outcome: contracts.Outcome((int(item) + i*2 + again) % 6), price: -1}
				row.ms = w.now.Add(-time.Duration(hours)*time.Hour - time.Duration(r.IntN(3))*time.Minute).UnixMilli()
				if row.outcome == contracts.PriceObserved {
					row.price = 100
				}
				fresh = append(fresh, row)
				hours += r.IntN(2) * 30
			}
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
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
	who := query.Principal{Account: a}
	var ids []contracts.OrderID
	r := query.OrdersRequest{Limit: &limit, IncludeCoverage: true, IncludeMonitoring: true}
	for {
		page, err := w.service.Orders(context.Background(), who, r)
		if err != nil {
			rt.Fatalf("%v", err)
		}
		for _, o := range page.Data {
			ids = append(ids, o.OrderID)
			detail, err := w.service.Order(context.Background(), who, o.OrderID)
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

// TestRetriesMoveNoCounter captures a pair again and again (QUAL-02c).
func TestRetriesMoveNoCounter(t *testing.T) {
	w := newWorld(t, 5, 0)
	counters := []contracts.SiteCounters{{Site: "alpha.example", ConfiguredObservations: 4, ExpectedProcessedByNow: 2, ProcessedObservations: 2}}
	w.writeOrder(orderRow{mandate: mandateOne, order: orderA, active: true, created: w.now.AddDate(0, -1, 0), interval: 60, counters: counters})
	for range 9 { // of item 1, not of item 2
		w.mark++
		r := obsRow{item: 1, site: "alpha.example", ms: w.now.UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.AccessRestricted, price: -1}
		w.rows = append(w.rows, r)
		w.write([]obsRow{r})
	}
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

// TestStoreNeverLeavesTheAccount asks the store itself for orders that the
// account does not see: it shows no pair, site or count of theirs (VIS-05).
func TestStoreNeverLeavesTheAccount(t *testing.T) {
	w := newWorld(t, 5, 0)
	a, err := w.store.Access(t.Context(), accountOrder) // orderB
	if err != nil {
		t.Fatal(err)
	}
	both := []contracts.OrderID{orderA, orderB, orderC}
	pairs, err := w.store.OrderPairs(t.Context(), a.Visibility, query.OrderPairsQuery{Orders: both, Limit: 100})
	if err != nil || len(pairs) != 6 {
		t.Errorf("%v, %v", pairs, err)
	}
	for _, p := range pairs { // some of them are of orderA, too
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
	w.writeOrder(orderRow{mandate: mandateOne, order: orderA, active: true, created: w.now, legacy: true, members: map[uint64]string{3: "x"}})
	w.writeOrder(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now, legacy: true, members: map[uint64]string{3: "y"}})
	members, err := w.store.Memberships(t.Context(), a.Visibility, both, []contracts.ItemID{3})
	if diff := cmp.Diff(map[contracts.OrderID]map[contracts.ItemID]contracts.Membership{orderB: {3: {ItemID: 3, Sites: "y"}}}, members); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if none, err := w.store.OrderPairs(t.Context(), a.Visibility, query.OrderPairsQuery{Orders: both[:1], Limit: 100}); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// TestPairsFollowTheConfiguration takes a pair out of the scope in force
// (QUAL-00b).
func TestPairsFollowTheConfiguration(t *testing.T) {
	w := newWorld(t, 5, 0)
	w.insert(rand.New(rand.NewPCG(1, 1)), 200, 0)
	w.writeOrder(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now})
	read := func() []entry {
		got, err := w.walkQuality(accountWhole, query.QualityRequest{Limit: ptr(4), OrderID: orderB})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); len(got) != 6 {
		t.Fatalf("%v", got)
	}
	for p, orders := range w.scopes[mandateOne] {
		if p.Item == 3 && slices.Contains(orders, orderB) {
			continue
		}
		w.exec("INSERT INTO scope_pairs VALUES (1, 8, ?, ?, ?)", uint64(p.Item), string(p.Site), ids(orders))
	}
	w.exec("INSERT INTO scopes VALUES (1, 8, 1, 6)")
	for _, e := range read() {
		if e.Item == 3 {
			t.Errorf("%+v is not configured any more", e)
		}
	}
	if got := read(); len(got) != 4 {
		t.Errorf("%v", got)
	}
}
