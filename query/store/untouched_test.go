package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// untouched is what a reader of checkpoints knows that has seen them all.
func (w *world) untouched(after, upTo event.Mark, s *event.Selection) bool {
	return !slices.ContainsFunc(w.rows, func(r obsRow) bool {
		at := event.Mark{Epoch: r.epoch, Seq: r.seq}
		if at.Compare(after) <= 0 || at.Compare(upTo) > 0 {
			return false
		}
		if _, sees := w.scopes[contracts.MandateID(s.Mandate)][r.pair()]; !sees {
			return false
		}
		one := event.Arrivals{Earliest: r.ms, Latest: r.ms, Items: []uint64{r.item}, Sites: []string{r.site}, Mandates: []uint64{s.Mandate}}
		return one.Touch(s)
	})
}

// TestUntouchedAnswersAreTheRows: what a node remembers of a watermark before is
// what it would read now, while rows arrive, most of them of something else, late
// or in the future, scopes change, tables are rebuilt and restored, and what
// arrived is not always known.
func TestUntouchedAnswersAreTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 721, 300)
	asked := w.listen()
	w.reports()
	w.writeOrders(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now.Add(-2000 * time.Hour), interval: 60})
	r := rand.New(rand.NewPCG(72, 1))
	var known, unknown int
	service := func(told, check bool) *query.Service {
		return w.over(w.store, func(c *query.Config) {
			c.SoftDeadline, c.HardBudget, c.CheckRemembered = time.Minute, time.Minute, check
			if told {
				c.Untouched = func(after, upTo event.Mark, s *event.Selection) bool {
					if r.IntN(8) == 0 {
						unknown++
						return false
					}
					known++
					return w.untouched(after, upTo, s)
				}
			} else {
				c.RememberBytes, c.RememberStreamBytes = 0, 0
			}
		})
	}
	never, told, compares := service(false, false), service(true, false), service(true, true)
	day := func(back int) string { return w.now.Add(-time.Duration(back) * 24 * time.Hour).Format(time.RFC3339) }
	requests := []query.ResultsRequest{
		{ItemID: 2, LatestPerPair: true},
		{ItemID: 3, LatestPerPair: true, Site: "gamma.example"},
		{Site: "market.example", LatestPerPair: true},
		{ItemID: 4, CapturedFrom: day(9)},
		{ItemID: 4, CapturedFrom: day(9), Sort: "asc"},
		{ItemID: 1, CapturedFrom: day(9), CapturedTo: day(1), Include: query.Include{ExportFields: true}},
		{EAN: "4006381333931", LatestPerPair: true},
		{OrderID: orderB, CapturedFrom: day(2), CapturedTo: day(1)},
		{Site: "alpha.example", CapturedFrom: day(6), CapturedTo: day(2)},
		{CapturedFrom: day(3), CapturedTo: day(1), GlobalScope: true},
		{LatestPerPair: true, GlobalScope: true},
		{ItemID: 5, CapturedFrom: day(5), Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}},
		{ItemID: 6, LatestPerPair: true, CapturedFrom: day(2)},
		{Site: "market.example", LatestPerPair: true, CapturedFrom: day(1)},
		{ItemID: 6, LatestPerPair: true, CapturedFrom: day(2), Sort: "asc"},
		{ItemID: 1, LatestPerPair: true, CapturedFrom: day(3), Filters: query.Filters{CoverageState: "PRICE_OBSERVED"}},
	}
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	limit := 7
	var next string // of the page that was read last
	answer := func(s *query.Service, a contracts.AccountID, q query.ResultsRequest) string {
		t.Helper()
		q.Limit = &limit
		page, err := s.Results(t.Context(), query.Principal{Account: a}, q)
		if err != nil {
			return err.Error()
		}
		defer page.Rows.Release()
		next = page.Paging.NextCursor
		text := fmt.Sprintf("%s more: %t", page.Rows.JSON(), next != "")
		if q.ItemID != 0 && q.LatestPerPair {
			summary := must.Get(s.ItemSummary(t.Context(), query.Principal{Account: a}, query.ItemSummaryRequest{ItemID: q.ItemID, Site: q.Site}))(t)
			position, err := s.MarketPosition(t.Context(), query.Principal{Account: a}, query.PositionRequest{ItemID: q.ItemID, CandidatePrice: "12.99"})
			text += fmt.Sprintf(" %s %s %v", must.Get(json.Marshal(summary))(t), must.Get(json.Marshal(position))(t), err)
		}
		return text
	}
	since := day(1)
	sums := func(s *query.Service, a contracts.AccountID) string {
		p, whole := query.Principal{Account: a}, query.ResultsRequest{GlobalScope: true}
		closed := query.ResultsRequest{Site: "market.example", CapturedFrom: "2026-03-02", CapturedTo: "2026-03-05"}
		movers, err1 := s.Movers(t.Context(), p, query.MoversRequest{ResultsRequest: whole, Since: since})
		positions, err2 := s.Positions(t.Context(), p, query.PositionsRequest{OwnSite: "alpha.example"})
		sites, err3 := s.SiteStatus(t.Context(), p, query.SiteStatusRequest{})
		pairs, err4 := s.ObservationQuality(t.Context(), p, query.QualityRequest{OrderID: orderB, Site: "market.example"})
		statistics, err5 := s.Statistics(t.Context(), p, query.StatisticsRequest{ResultsRequest: closed, By: query.ByProduct, Bucket: "day"})
		overview, err6 := s.Overview(t.Context(), p, query.OverviewRequest{})
		all := []any{movers, positions, sites, pairs, statistics, overview}
		return fmt.Sprintf("%s %v", must.Get(json.Marshal(all))(t), []error{err1, err2, err3, err4, err5, err6})
	}
	version, saved, read, walked := uint64(7), 0, 0, 0
	walks := map[string]string{} // cursors of walks that began before
	for step := range effort.Often(13, 20) {
		w.now = w.now.Add(time.Duration(r.IntN(3)) * 7 * time.Minute)
		switch before := w.mark; {
		case step%9 == 5:
			version++
			w.regrant(version, func(pairs map[contracts.Pair][]contracts.OrderID) {
				pairs[contracts.Pair{Item: contracts.ItemID(1 + version%6), Site: contracts.SiteKey(worldSites[version%4])}] = []contracts.OrderID{orderA, orderB}
			}, func() { w.insert(r, 2, 0) })
			w.setMark(w.mark)
		case step == 7: // rebuilt: rows appear at old places
			late := slices.Clone(w.rows[:50])
			for i := range late {
				late[i].capture += 500
			}
			w.rows = append(w.rows, late...)
			w.write(late)
			w.notify("GENERATION")
		case step == 9: // the stream lost its tail
			w.epoch++
			w.mark = 0
			w.insert(r, 20, 0)
			w.setMark(w.mark)
		case step == 11: // restored from a little before
			w.exec("TRUNCATE TABLE checkpoints")
			w.setMark(w.mark - min(3, w.mark-1))
			for _, stream := range []string{"CATALOG", "IN_FORCE", "GENERATION"} {
				w.notify(stream)
			}
		default:
			w.insert(r, 1+r.IntN(2), time.Duration(r.IntN(3))*time.Hour)
			now := w.mark
			if step%5 == 4 && now > before+1 { // an incomplete batch
				now--
			}
			w.setMark(now)
		}
		for i, a := range accounts {
			if each := effort.Often(4, 3); step%each == 0 && (i == 0 || i == step/each%len(accounts)) {
				want := sums(never, a)
				for name, s := range map[string]*query.Service{"told": told, "compares": compares} {
					if name == "compares" && step%2 > 0 {
						continue
					}
					if diff := gocmp.Diff(want, sums(s, a)); diff != "" {
						t.Fatalf("step %d, %s, account %d: %s", step, name, a, diff)
					}
				}
			}
			for j, q := range requests {
				if (i+2*j)%effort.Often(11, 7) > 0 { // odd numbers: every account asks some
					continue
				}
				want := answer(never, a, q)
				asked.take()
				if diff := gocmp.Diff(want, answer(told, a, q)); diff != "" {
					t.Fatalf("step %d, account %d, %+v: %s", step, a, q, diff)
				}
				if read++; len(asked.take("results")) == 0 {
					saved++
				}
				walk := fmt.Sprint(i, j)
				earlier, later := walks[walk], next
				for _, cursor := range []string{later, earlier} { // perhaps of the same place, at different moments
					if q.Cursor = cursor; cursor == "" {
						continue
					}
					want := answer(never, a, q)
					if diff := gocmp.Diff(want, answer(told, a, q)); diff != "" {
						t.Fatalf("step %d, account %d, %+v: %s", step, a, q, diff)
					}
					walked++
				}
				q.Cursor, walks[walk] = "", later
				if step%4 == 0 {
					if diff := gocmp.Diff(want, answer(compares, a, q)); diff != "" {
						t.Fatalf("step %d, compared, account %d, %+v: %s", step, a, q, diff)
					}
				}
			}
		}
	}
	if is := compares.Stats(); is.Checked < 20 || is.Differences > 0 {
		t.Errorf("compared %d, different %d", is.Checked, is.Differences)
	}
	t.Logf("%d of %d answers took no statement; known %d, unknown %d", saved, read, known, unknown)
	if saved*4 < read || saved == read || walked < 25 {
		t.Errorf("%d of %d answers took no statement", saved, read)
	}
}

// TestTouchedSums: what is computed of many rows is computed again when a row of
// them arrives, also of one that was captured before a window and held into it,
// and otherwise costs no statement.
func TestTouchedSums(t *testing.T) {
	w := newWorld(t, 724, 0)
	asked := w.listen()
	w.reports()
	w.writeOrders(orderRow{mandate: mandateOne, order: orderB, active: true, created: w.now.Add(-2000 * time.Hour), interval: 60})
	s := w.over(w.store, func(c *query.Config) { c.Untouched = w.untouched })
	p, ctx := query.Principal{Account: accountWhole}, t.Context()
	at := func(d time.Duration) string { return w.now.Add(-d).Format(time.RFC3339) }
	closed := query.ResultsRequest{ItemID: 5, CapturedFrom: at(28 * time.Hour), CapturedTo: at(6 * time.Hour)}
	since := at(20 * time.Hour)
	sums := map[string]func() (any, error){
		"statistics": func() (any, error) {
			return s.Statistics(ctx, p, query.StatisticsRequest{ResultsRequest: closed, By: query.ByProduct})
		},
		"site status": func() (any, error) { return s.SiteStatus(ctx, p, query.SiteStatusRequest{}) },
		"quality": func() (any, error) {
			return s.ObservationQuality(ctx, p, query.QualityRequest{OrderID: orderB, ItemID: 5})
		},
		"positions": func() (any, error) { return s.Positions(ctx, p, query.PositionsRequest{OwnMerchant: "M1"}) },
		"movers": func() (any, error) {
			return s.Movers(ctx, p, query.MoversRequest{ResultsRequest: query.ResultsRequest{GlobalScope: true}, Since: since})
		},
	}
	answers := map[string]string{}
	for _, step := range []struct {
		ago     time.Duration
		price   string
		changes []string
	}{
		{30 * time.Hour, "10.00 EUR", []string{"statistics", "site status", "quality", "positions", "movers"}},
		{200 * time.Hour, "9.00 EUR", nil}, // dated before everything
		{29 * time.Hour, "12.00 EUR", []string{"statistics", "site status", "quality", "positions"}},
		{7 * time.Hour, "8.00 EUR", []string{"statistics", "site status", "quality", "positions", "movers"}},
		{time.Hour, "7.00 EUR", []string{"site status", "quality", "positions", "movers"}},
		{-30 * time.Minute, "1.00 EUR", []string{"site status", "quality"}}, // dated ahead: it does not hide the one before
	} {
		w.capture(5, "market.example", step.ago, contracts.PriceObserved, step.price, "11.00 EUR")
		for name, sum := range sums {
			answer := string(must.Get(json.Marshal(must.Get(sum())(t)))(t))
			if changes := slices.Contains(step.changes, name); (answer != answers[name]) != changes {
				t.Errorf("%s after a capture %s ago: changed %t, want %t: %s", name, step.ago, !changes, changes, gocmp.Diff(answers[name], answer))
			}
			answers[name] = answer
			asked.take()
			if again := string(must.Get(json.Marshal(must.Get(sum())(t)))(t)); again != answer {
				t.Errorf("%s again: %s", name, gocmp.Diff(answer, again))
			}
			if ran := asked.take("results", "statistics", "order_pairs"); len(ran) > 0 && step.ago > 0 {
				t.Errorf("%s again: %v", name, ran)
			}
		}
	}
}

// TestTouchedIsCompared: the switch fails an answer that is remembered although
// a row of it arrived.
func TestTouchedIsCompared(t *testing.T) {
	w := newWorld(t, 722, 0)
	w.capture(5, "market.example", time.Hour, contracts.Unavailable)
	w.reports()
	s := w.over(w.store, func(c *query.Config) {
		c.CheckRemembered, c.Untouched = true, func(event.Mark, event.Mark, *event.Selection) bool { return true }
	})
	read := func() error {
		page, err := s.Results(t.Context(), query.Principal{Account: accountOther}, query.ResultsRequest{ItemID: 5, LatestPerPair: true})
		if err == nil {
			page.Rows.Release()
		}
		return err
	}
	must.Do(t, read())
	w.capture(5, "market.example", 0, contracts.Unavailable)
	if err := read(); err == nil || s.Stats().Differences != 1 {
		t.Errorf("nobody noticed the row: %v, %+v", err, s.Stats())
	}
}

// TestUntouchedStreams: text of closed hours is sent again, and a client is told
// that nothing changed, without a statement for rows that arrived, unless one was
// captured then.
func TestUntouchedStreams(t *testing.T) {
	w := newWorld(t, 723, 300)
	asked := w.listen()
	w.reports()
	s := w.over(w.store, func(c *query.Config) { c.Untouched = w.untouched })
	r := query.ResultsRequest{
		Site: "market.example", CapturedFrom: w.now.Add(-48 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Add(-24 * time.Hour).Format(time.RFC3339),
		Condition: &query.Condition{},
	}
	caller := query.Principal{Account: accountOther}
	stream := func() (rows int) {
		t.Helper()
		r.Condition = &query.Condition{}
		var got lines
		must.Do(t, s.StreamResults(t.Context(), caller, r, &got))
		return got.rows
	}
	for range 3 { // the third time it is remembered
		stream()
	}
	was, tag := stream(), r.Condition.Tag
	for name, c := range map[string]struct {
		site string
		ago  time.Duration
	}{"another site": {"alpha.example", 30 * time.Hour}, "another time": {"market.example", time.Hour}} {
		w.capture(5, c.site, c.ago, contracts.Unavailable)
		asked.take()
		r.Condition = &query.Condition{Tags: []string{tag}}
		same := must.Get(s.Unchanged(t.Context(), caller, r))(t)
		if again := stream(); !same || again != was {
			t.Errorf("after a row of %s: unchanged %t, %d rows, before %d", name, same, again, was)
		}
		if n := len(asked.take("feed", "results")); n > 0 {
			t.Errorf("after a row of %s: %d statements", name, n)
		}
	}
	w.capture(5, "market.example", 30*time.Hour, contracts.Unavailable)
	r.Condition = &query.Condition{Tags: []string{tag}}
	if same := must.Get(s.Unchanged(t.Context(), caller, r))(t); same || stream() != was+1 {
		t.Errorf("after a row of the window: unchanged %t", same)
	}
}
