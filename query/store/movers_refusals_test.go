package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/query"
)

// TestMoversRefusals requests what results refuse for the same scope and
// window, and what only movers refuse: RES-03b, RES-04a, RES-04b, RES-04c,
// RES-07a.
func TestMoversRefusals(t *testing.T) {
	w := newWorld(t, 63, 0)
	w.exec("INSERT INTO scope_pairs SELECT 1, 7, 1000 + number, 'beta.example', [101] FROM numbers(100001)")
	type rows = query.ResultsRequest
	since := func(at string, r rows) query.MoversRequest { return query.MoversRequest{Since: at, ResultsRequest: r} }
	ask := func(a contracts.AccountID, r query.MoversRequest) error {
		_, err := w.service.Movers(t.Context(), query.Principal{Account: a}, r)
		return err
	}
	hours := func(n int) string { return w.now.Add(-time.Duration(n) * time.Hour).Format(time.RFC3339Nano) }
	full, err := w.service.Movers(t.Context(), query.Principal{Account: accountOther}, since(hours(1), rows{ItemID: 4}))
	if err != nil || full.Data == nil {
		t.Fatalf("%+v, %v", full, err)
	}
	want := query.MoversEcho{
		Scope: "scoped", Since: "2026-03-08T11:00:00.000Z", Until: "2026-03-08T12:00:00.000Z", Timezone: "UTC", Pairs: 4,
		Kinds: map[query.MoverKind]int{}, Sites: []query.MoversOfSite{},
	}
	equals.Check(t, want, full.Query)
	for name, c := range map[string]struct {
		account contracts.AccountID
		r       query.MoversRequest
		code    string // empty: accepted
	}{
		"a product":             {accountWhole, since(hours(24), rows{ItemID: 1}), ""},
		"a year":                {accountWhole, since(hours(365*24), rows{ItemID: 1}), ""},
		"now":                   {accountWhole, since(hours(0), rows{ItemID: 1}), ""},
		"no since":              {accountWhole, since("", rows{ItemID: 1}), query.CodeValidation},
		"a date":                {accountWhole, since("2026-03-07", rows{ItemID: 1}), ""},
		"no day":                {accountWhole, since("2026-02-30", rows{ItemID: 1}), query.CodeValidation},
		"until a date":          {accountWhole, query.MoversRequest{Since: "2026-03-07", Until: "2026-03-07", ResultsRequest: rows{ItemID: 1}}, ""},
		"until before since":    {accountWhole, query.MoversRequest{Since: hours(1), Until: hours(2), ResultsRequest: rows{ItemID: 1}}, query.CodeValidation},
		"until no time":         {accountWhole, query.MoversRequest{Since: hours(1), Until: "now", ResultsRequest: rows{ItemID: 1}}, query.CodeValidation},
		"no such kind":          {accountWhole, query.MoversRequest{Since: hours(1), Kind: "CHEAPER", ResultsRequest: rows{ItemID: 1}}, query.CodeValidation},
		"no offset":             {accountWhole, since("2026-03-07T08:00:00", rows{ItemID: 1}), query.CodeValidation},
		"in the future":         {accountWhole, since(w.now.Add(time.Millisecond).Format(time.RFC3339Nano), rows{ItemID: 1}), query.CodeValidation},
		"no selector":           {accountWhole, since(hours(24), rows{}), query.CodeValidation},
		"global, a selector":    {accountOther, since(hours(24), rows{GlobalScope: true, Site: "beta.example"}), query.CodeValidation},
		"global, 168 hours":     {accountOther, since(hours(168), rows{GlobalScope: true}), ""},
		"global, 169 hours":     {accountOther, since(hours(169), rows{GlobalScope: true}), query.CodeScopeTooBroad},
		"global, 100,001 pairs": {accountWhole, since(hours(24), rows{GlobalScope: true}), query.CodeScopeTooBroad},
		"a site, 100,001 pairs": {accountWhole, since(hours(24), rows{Site: "beta.example"}), query.CodeScopeTooBroad},
		"a site, few are seen":  {accountOrder, since(hours(24), rows{Site: "beta.example"}), ""},
		"asin without locale":   {accountWhole, since(hours(24), rows{ASIN: "B000000001"}), query.CodeValidation},
		"no zone":               {accountWhole, since(hours(24), rows{ItemID: 1, Timezone: "Mars"}), query.CodeValidation},
		"limit 0":               {accountWhole, since(hours(24), rows{ItemID: 1, Limit: ptr(0)}), query.CodeValidation},
		"limit 10,001":          {accountWhole, since(hours(24), rows{ItemID: 1, Limit: ptr(10_001)}), query.CodeValidation},
		"a cursor of nothing":   {accountWhole, since(hours(24), rows{ItemID: 1, Cursor: "AAAA"}), query.CodeValidation},
		"nobody":                {999, since(hours(24), rows{ItemID: 1}), query.CodeTokenInvalid},
		"another mandate's":     {accountOther, since(hours(24), rows{OrderID: orderA}), ""},
		"a scope of no pairs":   {accountNone, since(hours(24), rows{GlobalScope: true}), ""},
		"nobody, wrong request": {999, since("", rows{ItemID: 1}), query.CodeValidation},
	} {
		err := ask(c.account, c.r)
		if code := refusal(err).Code; code != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
	}
	if err := ask(accountWhole, since(w.now.Add(time.Hour).Format(time.RFC3339), rows{ItemID: 1})); !strings.Contains(fmt.Sprint(err), "future") {
		t.Errorf("in the future: %v", err)
	}
	w.restless(rand.New(rand.NewPCG(63, 1)), 300)
	page, err := w.service.Movers(t.Context(), query.Principal{Account: accountWhole}, since(hours(48), rows{Site: "gamma.example", Limit: ptr(1)}))
	if err != nil || page.Paging.NextCursor == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, r := range []query.MoversRequest{
		since(hours(47), rows{Site: "gamma.example"}),
		since(hours(48), rows{Site: "alpha.example"}),
		since(hours(48), rows{Site: "gamma.example", Timezone: "Europe/Berlin"}),
		{Since: hours(48), ResultsRequest: rows{Site: "gamma.example"}, Kind: query.PriceUp},
		{Since: hours(48), ResultsRequest: rows{Site: "gamma.example"}, OwnMerchant: "Merchant B"},
		{Since: hours(48), ResultsRequest: rows{Site: "gamma.example"}, Until: hours(0)},
	} {
		r.Cursor = page.Paging.NextCursor
		if ask(accountWhole, r) == nil {
			t.Errorf("the cursor opens %+v", r)
		}
	}
	// The hard budget applies.
	hasty := w.over(w.store, func(c *query.Config) { c.SoftDeadline, c.HardBudget = time.Nanosecond, time.Nanosecond })
	_, err = hasty.Movers(t.Context(), query.Principal{Account: accountWhole}, since(hours(1), rows{ItemID: 1}))
	if refusal(err).Code != query.CodeQueryTimeout {
		t.Errorf("no time: %v", err)
	}
}
