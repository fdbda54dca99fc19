package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/alert"

	gocmp "github.com/google/go-cmp/cmp"
)

// listener follows a rule about silence.
type listener struct {
	account contracts.AccountID
	sel     query.ResultsRequest
	silent  time.Duration
	token   string
	judged  int64 // up to when, in milliseconds
}

func silentRule(d time.Duration) *alert.Rule {
	return &alert.Rule{Kind: alert.NoObservation, Confirm: 1, SilentFor: d}
}

// listens begins to follow a rule about silence.
func (w *world) listens(a contracts.AccountID, sel query.ResultsRequest, silent time.Duration) *listener {
	w.t.Helper()
	page := must.Get(w.service.Feed(w.t.Context(), query.Principal{Account: a}, query.FeedRequest{Alerts: true, Rule: silentRule(silent), Rows: sel}))(w.t)
	defer page.Rows.Release()
	l := &listener{a, sel, silent, page.Progress.Token, w.step()}
	if want := silentInstant(l.judged); page.Rows.Len() != 0 || !page.Progress.UpToDate || page.Progress.AsOf != want {
		w.t.Fatalf("it begins with %d alerts, %+v, want as of %s", page.Rows.Len(), page.Progress, want)
	}
	return l
}

// step is up to when silence is judged now.
func (w *world) step() int64 { return w.now.UnixMilli() / 5_000 * 5_000 }

func silentInstant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// selects reports whether a listener's selectors select a pair.
func (l *listener) selects(w *world, p contracts.Pair) bool {
	return (l.sel.Site == "" || l.sel.Site == p.Site) && (l.sel.ItemID == 0 || l.sel.ItemID == p.Item) &&
		(l.sel.EAN == "" || p.Item == 2 || p.Item == 6) && // 4006381333931
		(l.sel.OrderID == 0 || slices.Contains(w.scopes[w.mandateOf(l.account)][p], l.sel.OrderID))
}

// quiet is an alert, without its id.
type quiet struct {
	Item               contracts.ItemID
	Site               contracts.SiteKey
	Deadline, Captured string
	Price              string
}

// want looks at every capture that is visible, for the pairs that fell silent
// since a listener last read.
func (w *world) want(l *listener, mark uint64) (all []quiet) {
	captures := map[contracts.Pair]map[int64][]obsRow{}
	for _, r := range w.rows {
		if p := r.pair(); r.seq <= mark && w.sees(l.account, p) && l.selects(w, p) {
			if captures[p] == nil {
				captures[p] = map[int64][]obsRow{}
			}
			captures[p][r.ms] = append(captures[p][r.ms], r)
		}
	}
	for p, of := range captures {
		for ms, rows := range of {
			deadline := ms + l.silent.Milliseconds()
			silent := deadline > l.judged && deadline <= w.step()
			for other := range of {
				silent = silent && (other <= ms || other > deadline)
			}
			if !silent {
				continue
			}
			newest := slices.MaxFunc(rows, func(a, b obsRow) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture)) })
			rows = slices.DeleteFunc(slices.Clone(rows), func(r obsRow) bool { return r.seq != newest.seq || r.capture != newest.capture })
			offer := slices.MinFunc(rows, func(a, b obsRow) int {
				if stands(a, b) {
					return -1
				}
				return 1
			})
			all = append(all, quiet{p.Item, p.Site, silentInstant(deadline), silentInstant(ms), fmt.Sprint(offer.price)})
		}
	}
	slices.SortFunc(all, func(a, b quiet) int {
		return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Site, b.Site))
	})
	return all
}

// heard returns alerts as want does, and checks the rest of them.
func (w *world) heard(alerts []query.Alert, named map[string]string, l *listener) (all []quiet) {
	w.t.Helper()
	for _, a := range alerts {
		if a.Rule != alert.NoObservation || a.After != nil || a.ComparedPrice != nil || a.Before == nil || a.Deadline == nil {
			w.t.Fatalf("%+v", a)
		}
		price := "-1"
		if a.Before.Price != nil {
			minor := must.Get(contracts.ParseMoney(a.Before.Price.String(), *a.Before.CurrencyCode))(w.t)
			price = fmt.Sprint(minor.AmountMinor)
		}
		q := quiet{a.ItemID, a.Site, *a.Deadline, a.Before.CapturedAt, price}
		all = append(all, q)
		what := fmt.Sprint(w.mandateOf(l.account), l.silent, q.Item, q.Site, q.Captured)
		if of, known := named[a.AlertID]; known && of != what || len(a.AlertID) != 16 {
			w.t.Fatalf("alert id %q is of %s and %s", a.AlertID, of, what)
		}
		named[a.AlertID] = what
	}
	return all
}

func (w *world) mandateOf(a contracts.AccountID) contracts.MandateID {
	if a == accountOther {
		return mandateTwo
	}
	return mandateOne
}

// murmur adds captures: now, late, ahead of the clock, at the time of another
// one, and exactly at the deadline of another one or a little beside it.
func (w *world) murmur(r *rand.Rand, n int, silences []time.Duration) {
	w.t.Helper()
	var fresh []obsRow
	for range n {
		w.mark++
		items := uint64(6)
		if w.mark > 60 {
			items = 5 // the last one is only captured beside another of its captures
		}
		row := obsRow{
			item: 1 + r.Uint64N(items), site: worldSites[r.IntN(len(worldSites))], epoch: w.epoch, seq: w.mark,
			ms: w.now.UnixMilli() - r.Int64N(60_000), outcome: contracts.Outcome(r.IntN(6)), price: -1, merchant: "M",
		}
		if r.IntN(2) == 0 {
			row.ms -= row.ms % 60_000 // the same time for several pairs
		}
		switch r.IntN(8) {
		case 0:
			row.ms -= r.Int64N(9 * 3_600_000)
		case 1:
			row.ms += r.Int64N(2 * 3_600_000)
		case 2, 3, 4:
			if len(w.rows) == 0 {
				break
			}
			other := w.rows[len(w.rows)-1-r.IntN(min(len(w.rows), 60))]
			row.item, row.site = other.item, other.site
			row.ms = other.ms
			if r.IntN(3) > 0 {
				row.ms += silences[r.IntN(len(silences))].Milliseconds() + []int64{-1, 0, 0, 1}[r.IntN(4)]
			}
		}
		offers := 1
		if row.outcome == contracts.PriceObserved {
			offers += r.IntN(3)
		}
		for offer := range uint16(offers) {
			row.offer = offer
			if row.outcome == contracts.PriceObserved {
				row.price, row.shipping, row.buyBox = 900+r.Int64N(5), ptr(r.Int64N(2)), contracts.Flag(r.IntN(3))
			}
			fresh = append(fresh, row)
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
}

// TestSilencesFollowFromTheRows compares alerts about silence with a look at
// every capture, while the clock moves by seconds and by days, captures come
// late, at deadlines, in batches that are not complete, and the listeners come
// back sooner or later: by pages of any size, for accounts that see all or a
// part, each silence once, by when it fell.
func TestSilencesFollowFromTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 681, 0)
	w.reports()
	r := rand.New(rand.NewPCG(68, 1))
	silences := []time.Duration{time.Hour, 6 * time.Hour, 168 * time.Hour}
	w.murmur(r, 40, silences)
	w.setMark(w.mark)
	var all []*listener
	for i, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		for j, sel := range []query.ResultsRequest{{}, {Site: "gamma.example"}, {Site: "market.example"}, {ItemID: 4}, {EAN: "4006381333931"}, {OrderID: orderB}} {
			for k, silent := range silences {
				if j == 0 && k < 2 || (i+j+k)%effort.Often(6, 3) == 0 {
					all = append(all, w.listens(a, sel, silent))
				}
			}
		}
	}
	named := map[string]string{}
	count := map[time.Duration]int{}
	walks, late, cut := 0, 0, 0
	for step := range effort.Often(7, 11) {
		w.now = w.now.Add([]time.Duration{time.Second, 5 * time.Second, 7 * time.Second, time.Minute, 40 * time.Minute, time.Hour, 5 * time.Hour, 80 * time.Hour}[r.IntN(8)])
		w.murmur(r, 1+r.IntN(12), silences)
		mark := w.mark
		if step%5 == 4 { // an incomplete batch
			mark -= min(2, mark-1)
		}
		w.setMark(mark)
		for _, l := range all {
			if r.IntN(3) == 0 {
				continue // it comes back later
			}
			want := w.want(l, mark)
			limits := []int{[]int{1000, 7, 3}[r.IntN(3)]}
			if n := len(want); n > 1 && n < 30 && r.IntN(effort.Often(3, 1)) == 0 {
				limits = append(limits, 1, n-1, n)[:effort.Often(3, 4)]
				cut++
			}
			var next string
			for _, limit := range limits {
				got, token, err := w.alerts(l.account, l.token, limit)
				must.Do(t, err)
				if diff := gocmp.Diff(want, w.heard(got, named, l)); diff != "" {
					t.Fatalf("step %d, limit %d, %+v: %s", step, limit, l, diff)
				}
				next = token
			}
			walks++
			count[l.silent] += len(want)
			for _, q := range want {
				if q.Deadline < silentInstant(w.step()-24*3_600_000) {
					late++
				}
			}
			l.token, l.judged = next, w.step()
		}
		if step%5 == 4 {
			w.setMark(w.mark)
		}
	}
	t.Logf("listeners=%d walks=%d fired=%v longAgo=%d cut=%d ids=%d", len(all), walks, count, late, cut, len(named))
	if len(count) < 3 || count[time.Hour] < effort.Often(50, 70) || count[168*time.Hour] == 0 || late == 0 || cut < 5 {
		t.Errorf("too little was seen")
	}
}

// TestSilencesReadWhatFallsDue: a page of a feed that is followed costs what
// was captured as long ago as the silence lasts, not what is stored.
func TestSilencesReadWhatFallsDue(t *testing.T) {
	w := newWorld(t, 682, 0)
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(10000)")
	w.exec("INSERT INTO scopes VALUES (2, 8, 10000, 10000)")
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	// Every pair is captured each hour for two days, evenly, up to now; the last
	// hundred are not any more since six hours.
	const captures = "FROM (SELECT number % 10000 + 1 AS item, toInt64(? - 48 * 3600000 + number * 360) AS ms, number FROM numbers(480000)) WHERE item <= 9900 OR ms <= ?"
	now, ago := w.now.UnixMilli(), w.now.Add(-6*time.Hour).UnixMilli()
	const columns = "epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths"
	const values = ", intDiv(number, 100) + 1, number % 100, 0, 'priceObserved', 'EUR', 1000, -1, 'M', 0, 0, 255 "
	w.exec("INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, "+columns+") SELECT 2, -ms, item, 'alpha.example', ?"+values+captures, uint32(epoch), now, ago)
	w.exec("INSERT INTO observations (item, site, captured_at, "+columns+") SELECT item, 'alpha.example', fromUnixTimestamp64Milli(ms, 'UTC'), ?"+values+captures, uint32(epoch), now, ago)
	w.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT item, site, captured_at, epoch, seq, capture, outcome, [offer], [currency], [price_minor], [shipping_minor], [merchant], [0], [0], [255], [''], [''], [''], ['']
		FROM observations ORDER BY item, site, captured_at DESC LIMIT 1 BY item, site`)
	for _, table := range []string{"observations_by_mandate", "observations", "latest_observations"} {
		w.exec("OPTIMIZE TABLE " + table + " FINAL")
	}
	w.setMark(4_800)
	asked := w.listen()
	w.now = w.now.Add(-36 * time.Second) // before the deadline of the first of the hundred
	l := w.listens(accountOther, query.ResultsRequest{}, 6*time.Hour)
	silent := 0
	for step := range 9 {
		w.now = w.now.Add(5 * time.Second)
		got, token, err := w.alerts(l.account, l.token, 100)
		must.Do(t, err)
		silent += len(got)
		l.token = token
		ran := asked.take("silences")
		if len(ran) != 1 {
			t.Fatalf("%d statements", len(ran))
		}
		t.Logf("step %d: %d silent, %d rows read, %s", step, len(got), ran[0].Rows, ran[0].Took)
		if ran[0].Rows > 60_000 {
			t.Errorf("step %d: %d rows are read of 2 × 480,000", step, ran[0].Rows)
		}
	}
	if silent != 100 {
		t.Errorf("%d fell silent, not 100", silent)
	}
	if _, _, err := w.alerts(l.account, l.token, 100); err != nil || len(asked.take("silences")) != 0 {
		t.Errorf("in the same step it is read again: %v", err)
	}
}
