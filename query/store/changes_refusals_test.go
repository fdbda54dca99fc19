package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
)

// TestChangesRefusals asks what results refuse for the same scope and window,
// and what only changes refuse: RES-03b, RES-04a, RES-04b, RES-04c, RES-07a.
func TestChangesRefusals(t *testing.T) {
	w := newWorld(t, 63, 0)
	w.exec("INSERT INTO scope_pairs SELECT 1, 7, 1000 + number, 'beta.example', [101] FROM numbers(1001)")
	ask := func(a contracts.AccountID, r query.ChangesRequest) error {
		_, err := w.service.Changes(t.Context(), query.Principal{Account: a}, r)
		return err
	}
	hours := func(n int) string { return w.now.Add(-time.Duration(n) * time.Hour).Format(time.RFC3339Nano) }
	full, err := w.service.Changes(t.Context(), query.Principal{Account: accountOther}, query.ChangesRequest{Since: hours(1), ItemID: 4})
	if err != nil || full.Data == nil {
		t.Fatalf("%+v, %v", full, err)
	}
	want := query.ChangesEcho{Scope: "scoped", Since: "2026-03-08T11:00:00.000Z", Until: "2026-03-08T12:00:00.000Z", Timezone: "UTC"}
	if diff := cmp.Diff(want, full.Query); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		account contracts.AccountID
		r       query.ChangesRequest
		code    string // empty: accepted
	}{
		"a product":             {accountWhole, query.ChangesRequest{Since: hours(24), ItemID: 1}, ""},
		"a year":                {accountWhole, query.ChangesRequest{Since: hours(365 * 24), ItemID: 1}, ""},
		"now":                   {accountWhole, query.ChangesRequest{Since: hours(0), ItemID: 1}, ""},
		"no since":              {accountWhole, query.ChangesRequest{ItemID: 1}, query.CodeValidation},
		"a date":                {accountWhole, query.ChangesRequest{Since: "2026-03-07", ItemID: 1}, query.CodeValidation},
		"no offset":             {accountWhole, query.ChangesRequest{Since: "2026-03-07T08:00:00", ItemID: 1}, query.CodeValidation},
		"in the future":         {accountWhole, query.ChangesRequest{Since: w.now.Add(time.Millisecond).Format(time.RFC3339Nano), ItemID: 1}, query.CodeValidation},
		"no selector":           {accountWhole, query.ChangesRequest{Since: hours(24)}, query.CodeValidation},
		"global, a selector":    {accountOther, query.ChangesRequest{Since: hours(24), GlobalScope: true, Site: "beta.example"}, query.CodeValidation},
		"global, 168 hours":     {accountOther, query.ChangesRequest{Since: hours(168), GlobalScope: true}, ""},
		"global, 169 hours":     {accountOther, query.ChangesRequest{Since: hours(169), GlobalScope: true}, query.CodeScopeTooBroad},
		"global, 1,001 pairs":   {accountWhole, query.ChangesRequest{Since: hours(24), GlobalScope: true}, query.CodeLatestPairTooBroad},
		"a site, 1,001 pairs":   {accountWhole, query.ChangesRequest{Since: hours(24), Site: "beta.example"}, query.CodeLatestPairTooBroad},
		"a site, few are seen":  {accountOrder, query.ChangesRequest{Since: hours(24), Site: "beta.example"}, ""},
		"asin without locale":   {accountWhole, query.ChangesRequest{Since: hours(24), ASIN: "B000000001"}, query.CodeValidation},
		"no zone":               {accountWhole, query.ChangesRequest{Since: hours(24), ItemID: 1, Timezone: "Mars"}, query.CodeValidation},
		"limit 0":               {accountWhole, query.ChangesRequest{Since: hours(24), ItemID: 1, Limit: ptr(0)}, query.CodeValidation},
		"limit 1,001":           {accountWhole, query.ChangesRequest{Since: hours(24), ItemID: 1, Limit: ptr(1001)}, query.CodeValidation},
		"a cursor of nothing":   {accountWhole, query.ChangesRequest{Since: hours(24), ItemID: 1, Cursor: "AAAA"}, query.CodeValidation},
		"nobody":                {999, query.ChangesRequest{Since: hours(24), ItemID: 1}, query.CodeTokenInvalid},
		"another mandate's":     {accountOther, query.ChangesRequest{Since: hours(24), OrderID: orderA}, ""},
		"a scope of no pairs":   {accountNone, query.ChangesRequest{Since: hours(24), GlobalScope: true}, ""},
		"nobody, wrong request": {999, query.ChangesRequest{ItemID: 1}, query.CodeValidation},
	} {
		err := ask(c.account, c.r)
		var f *fault.Error
		code := ""
		if errors.As(err, &f) {
			code = f.Code
		}
		if code != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
	}
	if err := ask(accountWhole, query.ChangesRequest{Since: w.now.Add(time.Hour).Format(time.RFC3339), ItemID: 1}); !strings.Contains(fmt.Sprint(err), "future") {
		t.Errorf("in the future: %v", err)
	}
	w.restless(rand.New(rand.NewPCG(63, 1)), 300)
	page, err := w.service.Changes(t.Context(), query.Principal{Account: accountWhole}, query.ChangesRequest{Since: hours(48), Site: "gamma.example", Limit: ptr(1)})
	if err != nil || page.Paging.NextCursor == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, r := range []query.ChangesRequest{
		{Since: hours(47), Site: "gamma.example"},
		{Since: hours(48), Site: "alpha.example"},
		{Since: hours(48), Site: "gamma.example", Timezone: "Europe/Berlin"},
	} {
		r.Cursor = page.Paging.NextCursor
		if ask(accountWhole, r) == nil {
			t.Errorf("the cursor opens %+v", r)
		}
	}
	// The hard budget holds.
	cfg := query.Defaults()
	cfg.CursorKey = "0123456789abcdef0123456789abcdef"
	cfg.SoftDeadline, cfg.HardBudget = time.Nanosecond, time.Nanosecond
	hasty, err := query.New(cfg, w.store, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	_, err = hasty.Changes(t.Context(), query.Principal{Account: accountWhole}, query.ChangesRequest{Since: hours(1), ItemID: 1})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != query.CodeQueryTimeout {
		t.Errorf("no time: %v", err)
	}
}
