package store_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// unexported are the fields that records are ranked by.
var unexported = cmpopts.IgnoreUnexported(query.Mover{}, query.OwnPosition{})

// TestOverviewSaysWhatTheReadsSay draws accounts, instants and sites, and
// compares each list of the overview with everything that its read lists.
func TestOverviewSaysWhatTheReadsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 77, 0)
	w.restless(rand.New(rand.NewPCG(7, 7)), effort.Often(1000, 3000))
	w.exec("INSERT INTO reference_prices VALUES (1, 1, [(1000, 'EUR', '', '', '')], 1), (1, 2, [(1200, 'EUR', '', '', '')], 1), (1, 3, [(1, 'EUR', '', '', '')], 1)")
	start := w.now
	w.reports()
	var orders []orderRow
	for id, m := range map[contracts.OrderID]contracts.MandateID{orderA: mandateOne, orderB: mandateOne, orderC: mandateTwo} {
		orders = append(orders, orderRow{mandate: m, order: id, active: true, created: start.Add(-2000 * time.Hour), interval: 60, counters: []contracts.SiteCounters{
			{Site: "alpha.example", ConfiguredObservations: 24, ExpectedProcessedByNow: 3}, {Site: "market.example", ConfiguredObservations: 24, ExpectedProcessedByNow: 3},
		}})
	}
	w.writeOrders(orders...)
	seen, named, overdues := map[string]int{}, 0, 0
	effort.CheckOften(t, 5, 30, func(rt *rapid.T) {
		w.now = start.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 30}).Draw(rt, "now")) * time.Hour)
		a := rapid.SampledFrom([]contracts.AccountID{accountWhole, accountWhole, accountWhole, accountOther, accountOrder, accountSites, accountNone, accountOther}).Draw(rt, "account")
		r := query.OverviewRequest{
			Since:    rapid.OneOf(rapid.SampledFrom([]string{"", "now-7d", w.now.AddDate(0, 0, -2).Format("2006-01-02")}), rapid.Map(rapid.IntRange(1, 160), func(n int) string { return fmt.Sprintf("now-%dh", n) })).Draw(rt, "since"),
			Site:     contracts.SiteKey(rapid.SampledFrom([]string{"", "", "market.example", "none.example"}).Draw(rt, "site")),
			Timezone: rapid.SampledFrom([]string{"", "Asia/Kolkata"}).Draw(rt, "zone"),
		}
		top := query.OverviewTop
		if rapid.Bool().Draw(rt, "shortened") {
			top = rapid.IntRange(1, query.OverviewTop).Draw(rt, "top")
			r.Top = &top
		}
		p := query.Principal{Account: a}
		o, err := w.service.Overview(t.Context(), p, r)
		if err != nil {
			rt.Fatalf("%+v: %v", r, err)
		}
		for _, list := range o.Data {
			read, err := url.Parse(list.Read)
			if err != nil || list.Count == nil || list.Problem != nil || read.Query().Get("site") != string(r.Site) {
				rt.Fatalf("%+v, %v", list, err)
			}
			q := read.Query()
			rows := query.ResultsRequest{Site: contracts.SiteKey(q.Get("site")), Timezone: q.Get("timezone"), Limit: ptr(query.MaxResultsLimit)}
			var all, shown any
			var first, whole int
			switch read.Path {
			case "/ext/v1/movers":
				rows.GlobalScope = r.Site == ""
				page := must.Get(w.service.Movers(t.Context(), p, query.MoversRequest{ResultsRequest: rows, Since: q.Get("since"), Until: q.Get("until"), Kind: query.MoverKind(q.Get("kind"))}))(rt)
				if q.Get("kind") != list.List || o.Query.Movers.Moved != page.Query.Moved || o.Query.Movers.Captured != page.Query.Captured || o.Query.Movers.Untold != page.Query.Untold || o.Query.Movers.Pairs != page.Query.Pairs {
					rt.Fatalf("%s: %+v for %+v", list.List, o.Query.Movers, page.Query)
				}
				whole, first = len(page.Data), len(list.Movers)
				all, shown = page.Data[:min(whole, top)], list.Movers
			case "/ext/v1/position":
				page := must.Get(w.service.Positions(t.Context(), p, query.PositionsRequest{ResultsRequest: rows}))(rt)
				end := slices.IndexFunc(page.Data, func(p query.OwnPosition) bool {
					return p.Difference[0] == '-' || p.Difference == "0.00" || p.Difference == "0"
				})
				if end < 0 {
					end = len(page.Data)
				}
				whole, first = end, len(list.Positions)
				all, shown = page.Data[:min(whole, top)], list.Positions
			case "/ext/v1/sites/status":
				page := must.Get(w.service.SiteStatus(t.Context(), p, query.SiteStatusRequest{Site: rows.Site, Timezone: rows.Timezone}))(rt)
				whole, first = len(page.Data), len(list.Sites)
				worst, overdue := 0, 0
				for _, s := range page.Data {
					worst = max(worst, s.Reasons.Overdue)
					if s.Reasons.Overdue > 0 {
						overdue++
					}
				}
				overdues += overdue
				if first > 0 && list.Sites[0].Reasons.Overdue != worst || o.Query.Sites.Overdue != overdue || o.Query.Sites.Pairs != page.Query.Pairs {
					rt.Fatalf("%+v for %+v, %+v", list.Sites, page.Data, o.Query.Sites)
				}
			default:
				rt.Fatalf("read %q", list.Read)
			}
			if diff := gocmp.Diff(all, shown, unexported, cmpopts.EquateEmpty()); diff != "" || *list.Count != whole || first != min(whole, top) {
				rt.Fatalf("%s: %d of %d, counted %d (-read +overview):\n%s", list.List, first, whole, *list.Count, diff)
			}
			for _, i := range list.Products {
				if i.Name != nil {
					named++
				}
			}
			seen[list.List] += whole
		}
	})
	if moved := seen["PRICE_DOWN"] + seen["PRICE_UP"] + seen["OUT_OF_STOCK"] + seen["BACK_IN_STOCK"]; moved == 0 || seen[query.AboveCheapest] == 0 || seen[query.SitesList] == 0 {
		t.Errorf("too little was there: %v", seen)
	}
	if named == 0 || overdues == 0 {
		t.Errorf("%d products have a name, %d sites are overdue", named, overdues)
	}
}

// TestOverviewSaysWhatIsRefused: a list that its caller may not read says so,
// and has no count; the others are there. A faulty request is refused as a
// whole.
func TestOverviewSaysWhatIsRefused(t *testing.T) {
	w := newWorld(t, 77, 0)
	w.exec("INSERT INTO accounts SELECT * REPLACE (version + 1 AS version, ['results'] AS permissions) FROM accounts FINAL WHERE account = " + fmt.Sprint(uint64(accountWhole)))
	o := must.Get(w.service.Overview(t.Context(), query.Principal{Account: accountWhole}, query.OverviewRequest{}))(t)
	for _, list := range o.Data {
		if refused := list.List == query.SitesList; refused != (list.Count == nil) || refused != (list.Problem != nil && list.Problem.Code == query.CodeForbidden) {
			t.Errorf("%+v", list)
		}
	}
	if o.Query.Sites != nil || o.Query.Movers == nil || o.Query.Positions == nil {
		t.Errorf("%+v", o.Query)
	}
	for _, r := range []query.OverviewRequest{{Since: "yesterday"}, {Since: "now-0h"}, {Since: "2999-01-01"}, {Timezone: "Mars"}, {Top: ptr(0)}, {Top: ptr(query.OverviewTop + 1)}} {
		if _, err := w.service.Overview(t.Context(), query.Principal{Account: accountWhole}, r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
