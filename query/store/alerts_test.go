package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	"preismon/query/alert"

	gocmp "github.com/google/go-cmp/cmp"
)

// lively adds captures from a time on, most of them in the order of time, some
// late, with the offers and states of restless; it returns the time of the last
// one.
func (w *world) lively(r *rand.Rand, n int, from time.Time) time.Time {
	w.t.Helper()
	moved := w.restlessRows(r, n)
	for i := range moved {
		if i == 0 || moved[i].seq != moved[i-1].seq {
			from = from.Add(15 * time.Minute)
		}
		moved[i].ms = from.UnixMilli()
		if moved[i].seq%7 == 0 {
			moved[i].ms -= 5 * 3_600_000
		}
	}
	w.add(moved)
	return from
}

// alerts reads all alerts after a token, page by page.
func (w *world) alerts(a contracts.AccountID, token string, limit int) (all []query.Alert, next string, err error) {
	for {
		page, err := w.service.Feed(w.t.Context(), query.Principal{Account: a}, query.FeedRequest{Since: token, Alerts: true, Limit: &limit, Lines: true})
		if err != nil {
			return nil, "", err
		}
		n := 0
		for line := range bytes.Lines(page.Rows.JSON()) {
			var one query.Alert
			if err := json.Unmarshal(line, &one); err != nil {
				return nil, "", err
			}
			all = append(all, one)
			n++
		}
		if n != page.Rows.Len() {
			return nil, "", fmt.Errorf("%d lines of %d alerts", n, page.Rows.Len())
		}
		upToDate := page.Progress.UpToDate
		token = page.Progress.Token
		page.Rows.Release()
		if upToDate {
			return all, token, nil
		}
	}
}

// bruteAlerts looks at every row and returns what fires at the captures after a
// sequence, without the ids of alerts.
func (w *world) bruteAlerts(a contracts.AccountID, sel query.ResultsRequest, rule alert.Rule, behind uint64) (all []query.Alert) {
	rows := slices.Clone(w.rows)
	slices.SortStableFunc(rows, func(a, b obsRow) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture), cmp.Compare(a.offer, b.offer))
	})
	past := map[contracts.Pair][]alert.Judged{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].seq == rows[0].seq && rows[n].capture == rows[0].capture {
			n++
		}
		one := rows[:n]
		rows = rows[n:]
		if !w.sees(a, one[0].pair()) || sel.Site != "" && string(sel.Site) != one[0].site {
			continue
		}
		stands := slices.MinFunc(one, func(a, b obsRow) int {
			if stands(a, b) {
				return -1
			}
			return 1
		})
		c := alert.Capture{Ms: stands.ms, State: map[string]contracts.Outcome{
			"PRICE_OBSERVED": contracts.PriceObserved, "UNAVAILABLE": contracts.Unavailable, "PRODUCT_NOT_FOUND": contracts.ProductNotFound, "UNKNOWN": contracts.AccessRestricted,
		}[coverage(stands)]}
		if rule.Kind == alert.Undercut && rule.OwnMerchant != "" { // whichever offer stands
			c.State = stands.outcome
		}
		for _, row := range one {
			o := alert.Offer{Price: row.price, Shipping: -1, Currency: contracts.Currency(cmp.Or(row.currency, "EUR")), Merchant: row.merchant}
			if row.shipping != nil {
				o.Shipping = *row.shipping
			}
			if row.site == "market.example" {
				o.BuyBox = row.buyBox
			}
			c.Offers = append(c.Offers, o)
		}
		j := rule.Judge(c, func(contracts.Currency) (int64, bool) { return 0, false })
		pair := stands.pair()
		past[pair] = append(past[pair], j)
		if stands.seq <= behind {
			continue
		}
		before, fires := rule.Fires(past[pair])
		if !fires {
			continue
		}
		if rule.Kind != alert.Undercut {
			if got, want := j.Offer.Price, stands.price; got != want {
				w.t.Errorf("the offer that stands asks %d, not %d", got, want)
			}
		}
		after := query.MoverSide{CapturedAt: time.UnixMilli(j.Ms).UTC().Format("2006-01-02T15:04:05.000Z")}
		is := query.Alert{Rule: rule.Kind, ItemID: pair.Item, Site: pair.Site, After: &after}
		if before != nil {
			is.Before = &query.MoverSide{CapturedAt: time.UnixMilli(before.Ms).UTC().Format("2006-01-02T15:04:05.000Z")}
		}
		all = append(all, is)
	}
	return all
}

// TestAlertsFollowFromTheRows compares alerts of random rows, some of them
// late, with a look at every row: by pages of any size, for accounts that see
// all or a part, each alert once, in the order of the feed, with the same id
// for all accounts of a mandate.
func TestAlertsFollowFromTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 391, 0)
	w.reports()
	r := rand.New(rand.NewPCG(39, 1))
	at := w.lively(r, 300, w.now.Add(-9*24*time.Hour))
	rules := []alert.Rule{
		{Kind: alert.PriceBelow, Price: 1000, Currency: "EUR", Confirm: 1},
		{Kind: alert.PriceBelow, Price: 1000, Currency: "EUR", Confirm: 2, Rearm: 10},
		{Kind: alert.PriceDrop, Percent: 10, Confirm: 1},
		{Kind: alert.OutOfStock, Confirm: 1},
		{Kind: alert.BackInStock, Confirm: 2},
		{Kind: alert.BuyBoxLost, Confirm: 1},
		{Kind: alert.BuyBoxLost, OwnMerchant: "Merchant B", Confirm: 1},
		{Kind: alert.Undercut, OwnMerchant: "Merchant B", Confirm: 1},
	}
	accounts := []contracts.AccountID{accountWhole, accountSites, accountNone, accountOther}
	type follower struct {
		account contracts.AccountID
		sel     query.ResultsRequest
		rule    alert.Rule
		token   string
	}
	var all []follower
	for i, a := range accounts {
		for j, rule := range rules {
			for k, sel := range []query.ResultsRequest{{}, {Site: "market.example"}} {
				if few := k == i/3 && (i%3 == 0 || j%4 == 0); !few && effort.Often(0, 1) == 0 {
					continue
				}
				page, err := w.service.Feed(t.Context(), query.Principal{Account: a}, query.FeedRequest{Alerts: true, Rule: &rule, Rows: sel})
				if err != nil || page.Rows.Len() != 0 {
					t.Fatalf("%+v: %v", rule, err)
				}
				all = append(all, follower{a, sel, rule, page.Progress.Token})
				page.Rows.Release()
			}
		}
	}
	behind := w.mark
	w.lively(r, 300, at)
	fired, late := map[alert.Kind]int{}, 0
	named := map[string]string{}
	for _, f := range all {
		want := w.bruteAlerts(f.account, f.sel, f.rule, behind)
		var first []query.Alert
		for _, limit := range []int{1000, 1, 7} {
			if limit < 1000 && (f.account != accountOther || f.sel.Site == "" || f.rule != rules[map[int]int{1: 0, 7: 4}[limit]]) {
				continue
			}
			got, _, err := w.alerts(f.account, f.token, limit)
			must.Do(t, err)
			if first == nil {
				first = got
			}
			if diff := gocmp.Diff(first, got); diff != "" {
				t.Fatalf("limit %d, %+v: %s", limit, f, diff)
			}
		}
		if len(first) != len(want) {
			t.Fatalf("%+v: %d alerts, want %d", f, len(first), len(want))
		}
		for i, is := range first {
			side := func(s *query.MoverSide) string {
				if s == nil {
					return ""
				}
				return s.CapturedAt
			}
			if is.Rule != want[i].Rule || is.ItemID != want[i].ItemID || is.Site != want[i].Site || side(is.After) != side(want[i].After) || side(is.Before) != side(want[i].Before) {
				t.Fatalf("%+v: alert %d is %+v, want %+v", f, i, is, want[i])
			}
			mandate := 1
			if f.account == accountOther {
				mandate = 2
			}
			what := fmt.Sprint(mandate, f.rule, is.ItemID, is.Site, is.After.CapturedAt)
			if of, known := named[is.AlertID]; known && of != what || len(is.AlertID) != 16 {
				t.Fatalf("alert id %q is of %s and %s", is.AlertID, of, what)
			}
			named[is.AlertID] = what
			fired[f.rule.Kind]++
		}
	}
	for _, row := range w.rows {
		if row.seq > behind && row.seq%7 == 0 {
			late++
		}
	}
	t.Logf("followers=%d late=%d fired=%v ids=%d", len(all), late, fired, len(named))
	for _, k := range alert.Kinds() {
		if k != alert.NoObservation && (fired[k] == 0 || late == 0) { // time decides that: silences_test.go
			t.Errorf("%s never fired", k)
		}
	}
}

// TestAlertsOfAReferencePrice: an alert when the caller's own price is undercut,
// and what its token is good for.
func TestAlertsOfAReferencePrice(t *testing.T) {
	w := newWorld(t, 392, 0)
	w.exec("INSERT INTO reference_prices VALUES (2, 4, [(900, 'EUR', '', '', '')], 1), (1, 3, [(900, 'EUR', '', '', '')], 1), (1, 2, [(900, 'JPY', '', '', '')], 1)")
	page := must.Get(w.service.Feed(t.Context(), query.Principal{Account: accountWhole}, query.FeedRequest{Alerts: true, Rule: &alert.Rule{Kind: alert.Undercut, Confirm: 1}}))(t)
	token := page.Progress.Token
	page.Rows.Release()
	var rows []obsRow
	for item := range uint64(5) {
		w.mark++
		rows = append(rows, obsRow{item: item + 1, site: "gamma.example", ms: w.now.UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: 1, merchant: "M"})
	}
	w.rows = append(w.rows, rows...)
	w.write(rows)
	w.setMark(w.mark)
	got, _, err := w.alerts(accountWhole, token, 100)
	if err != nil || len(got) != 1 || got[0].ItemID != 3 || *got[0].ComparedPrice != "9.00" || *got[0].After.Price != "0.01" || got[0].Before != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	t.Run("tokens", func(t *testing.T) { w.alertTokens(t) })
	t.Run("beside a buy box without a price", func(t *testing.T) {
		page := must.Get(w.service.Feed(t.Context(), query.Principal{Account: accountWhole}, query.FeedRequest{Alerts: true, Rule: &alert.Rule{Kind: alert.Undercut, OwnMerchant: "own", Confirm: 1}}))(t)
		token := page.Progress.Token
		page.Rows.Release()
		w.mark++
		item := uint64(1)
		for ; !w.sees(accountWhole, contracts.Pair{Item: contracts.ItemID(item), Site: "market.example"}); item++ {
		}
		row := obsRow{item: item, site: "market.example", ms: w.now.UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, merchant: "X", price: -1, buyBox: contracts.FlagTrue}
		own, other := row, row
		own.offer, own.merchant, own.price, own.buyBox = 1, "own", 1000, contracts.FlagFalse
		other.offer, other.merchant, other.price, other.buyBox = 2, "other", 900, contracts.FlagFalse
		rows := []obsRow{row, own, other}
		w.rows = append(w.rows, rows...)
		w.write(rows)
		w.setMark(w.mark)
		got, _, err := w.alerts(accountWhole, token, 100)
		if err != nil || len(got) != 1 || *got[0].ComparedPrice != "10.00" || *got[0].After.Price != "9.00" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// alertTokens: a token belongs to alerts, its rule and its account; what cannot
// be continued is refused the same way as for changes.
func (w *world) alertTokens(t *testing.T) {
	rule := &alert.Rule{Kind: alert.OutOfStock, Confirm: 1}
	ask := func(a contracts.AccountID, r query.FeedRequest) (string, error) {
		p, err := w.service.Feed(t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			return "", err
		}
		defer p.Rows.Release()
		return p.Progress.Token, nil
	}
	token := must.Get(ask(accountWhole, query.FeedRequest{Alerts: true, Rule: rule}))(t)
	changes := must.Get(ask(accountWhole, query.FeedRequest{}))(t)
	for what, c := range map[string]struct {
		account contracts.AccountID
		r       query.FeedRequest
	}{
		"of changes":      {accountWhole, query.FeedRequest{Alerts: true, Since: changes}},
		"for changes":     {accountWhole, query.FeedRequest{Since: token}},
		"another account": {accountOrder, query.FeedRequest{Alerts: true, Since: token}},
		"beside a rule":   {accountWhole, query.FeedRequest{Alerts: true, Since: token, Rule: rule}},
		"no rule":         {accountWhole, query.FeedRequest{Alerts: true}},
		"a wrong rule":    {accountWhole, query.FeedRequest{Alerts: true, Rule: &alert.Rule{Kind: alert.PriceBelow, Confirm: 1}}},
		"limit 1,001":     {accountWhole, query.FeedRequest{Alerts: true, Rule: rule, Limit: ptr(1_001)}},
	} {
		if _, err := ask(c.account, c.r); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ask(accountWhole, query.FeedRequest{Alerts: true, Since: token}); err != nil {
		t.Error(err)
	}
	w.notify("GENERATION")
	if _, err := ask(accountWhole, query.FeedRequest{Alerts: true, Since: token}); fault.KindOf(err) != fault.Gone {
		t.Errorf("rebuilt: %v", err)
	}
}
