package contracts_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestMoneyIsExact(t *testing.T) {
	for _, test := range []struct {
		text     string
		currency contracts.Currency
		want     int64 // -1: refused
		shown    string
	}{
		// FLD-07b: the amount in minor units, by the currency's exponent.
		{"12.34", "EUR", 1234, "12.34 EUR"},
		{"500", "JPY", 500, "500 JPY"},
		{"1.234", "KWD", 1234, "1.234 KWD"},
		{"0.05", "EUR", 5, "0.05 EUR"},
		{"0", "EUR", 0, "0.00 EUR"},
		{"7", "EUR", 700, "7.00 EUR"},
		{"7.5", "KWD", 7500, "7.500 KWD"},
		{"1.0001", "CLF", 10001, "1.0001 CLF"},
		{"500.00", "JPY", 500, "500 JPY"},
		{"12.3400", "EUR", 1234, "12.34 EUR"},
		{"90071992547409.91", "EUR", contracts.MaxAmountMinor, "90071992547409.91 EUR"},
		{"90071992547409.92", "EUR", -1, ""},
		{"99999999999999999999", "JPY", -1, ""},
		{"12.345", "EUR", -1, ""},
		{"500.5", "JPY", -1, ""},
		{"-1", "EUR", -1, ""},
		{"+1", "EUR", -1, ""},
		{"1e3", "EUR", -1, ""},
		{"1,50", "EUR", -1, ""},
		{"1_0", "EUR", -1, ""},
		{" 1", "EUR", -1, ""},
		{"", "EUR", -1, ""},
		{".", "EUR", -1, ""},
		{"1.2.3", "EUR", -1, ""},
		{"1", "EURO", -1, ""},
		{"1", "XAU", -1, ""},
	} {
		m, err := contracts.ParseMoney(test.text, test.currency)
		switch {
		case test.want < 0 && err == nil:
			t.Errorf("%q %s: read as %v", test.text, test.currency, m)
		case test.want >= 0 && (err != nil || m.AmountMinor != test.want || m.String() != test.shown):
			t.Errorf("%q %s: %d, %q, %v, want %d, %q", test.text, test.currency, m.AmountMinor, m, err, test.want, test.shown)
		}
	}
	equals.Is(t, "-0.05", string(contracts.AppendMinor(nil, -5, 2)), "-5")
}

func TestMoneyRoundTrips(t *testing.T) {
	var all []contracts.Currency
	for c := range contracts.Currencies() {
		all = append(all, c)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := contracts.Money{AmountMinor: rapid.Int64Range(0, contracts.MaxAmountMinor).Draw(t, "amount"), CurrencyCode: rapid.SampledFrom(all).Draw(t, "currency")}
		text := string(m.AppendDecimal(nil))
		got, err := contracts.ParseMoney(text, m.CurrencyCode)
		if err != nil || got != m {
			t.Fatalf("%v as %s: %v, %v", m, text, got, err)
		}
	})
}

func TestCurrencyDigits(t *testing.T) {
	for c, want := range map[contracts.Currency]int{"EUR": 2, "JPY": 0, "KWD": 3, "CLF": 4, "ISK": 0, "HUF": 2, "???": 2} {
		equals.Is(t, want, c.Digits(), "%s digits", c)
	}
	for _, c := range []contracts.Currency{"", "eur", "XXX", "DEM", "EURO"} {
		if c.Valid() {
			t.Errorf("%q is valid", c)
		}
	}
}

func TestIDs(t *testing.T) {
	for text, ok := range map[string]bool{
		"1": true, "18446744073709551615": true, "18446744073709551616": false, "0": false, "01": false, "": false, "+1": false, "-1": false, "1 ": false, "1_0": false, "x": false,
	} {
		id, err := contracts.ParseID[contracts.ItemID](text)
		if (err == nil) != ok || ok && id.String() != text {
			t.Errorf("%q: %v, %v", text, id, err)
		}
	}
	b, err := json.Marshal(map[contracts.ItemID]contracts.MandateID{1<<64 - 1: 7})
	if err != nil || string(b) != `{"18446744073709551615":"7"}` {
		t.Errorf("%s, %v", b, err)
	}
	var back struct{ ID contracts.ItemID }
	for text, ok := range map[string]bool{`{"ID":"7"}`: true, `{"ID":7}`: false, `{"ID":"0"}`: false} {
		if err := json.Unmarshal([]byte(text), &back); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Derived ids never change, and their parts are not simply concatenated.
	if id := contracts.DeriveID[contracts.ItemID]("site", "key"); id != contracts.DeriveID[contracts.ItemID]("site", "key") || id == contracts.DeriveID[contracts.ItemID]("sitek", "ey") || id == 0 || id>>63 != 0 {
		t.Errorf("derived %d", id)
	}
	equals.Is(t, 2183872570021790779, contracts.DeriveID[contracts.ItemID]("a", "b"), "a, b gives now: every derived id would change")
}

func TestProductNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"4006381333931": true, "4006381333932": false, "96385074": true, "96385075": false, "036000291452": true, "036000291453": false,
		"10614141000415": true, "10614141000416": false, "400638133393": false, "400638133393X": false, "": false, "４００６": false,
	} {
		if contracts.ValidEAN(text) != want {
			t.Errorf("EAN %q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"27580899": true, "27580898": false, "2758089": false, "2758089X": false, "": false, "00000000": true} {
		if contracts.ValidPZN(text) != want {
			t.Errorf("PZN %q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"B00EXAMPLE": true, "3836541234": true, "b00example": false, "B00EXAMPL": false, "B00EXAMPLES": false, "B00EXAMPL\n": false} {
		if contracts.ValidASIN(text) != want {
			t.Errorf("ASIN %q: %v", text, !want)
		}
	}
	// Exactly one of the ten last digits is right.
	rapid.Check(t, func(t *rapid.T) {
		stem := rapid.StringMatching(`[0-9]{7}|[0-9]{11,13}`).Draw(t, "stem")
		right := 0
		for d := range 10 {
			if contracts.ValidEAN(fmt.Sprint(stem, d)) {
				right++
			}
		}
		if right != 1 {
			t.Fatalf("%s: %d check digits are right", stem, right)
		}
	})
}

func TestFlagsKeepWhatWasObserved(t *testing.T) {
	for in, want := range map[string]contracts.Flag{
		// FLD-02c: true and false are both kept.
		`{"isPrime":true}`: contracts.FlagTrue, `{"isPrime":false}`: contracts.FlagFalse,
		// FLD-02d: missing, null and values that are not Booleans are unknown,
		// not false.
		`{}`: contracts.FlagUnknown, `{"isPrime":null}`: contracts.FlagUnknown, `{"isPrime":"true"}`: contracts.FlagUnknown, `{"isPrime":1}`: contracts.FlagUnknown,
		`{"isPrime":0}`: contracts.FlagUnknown, `{"isPrime":[true]}`: contracts.FlagUnknown, `{"isPrime":{"a":true}}`: contracts.FlagUnknown,
	} {
		var o contracts.Offer
		if err := json.Unmarshal([]byte(in), &o); err != nil || o.IsPrime != want {
			t.Errorf("%s: %d, %v", in, o.IsPrime, err)
		}
	}
	for flag, want := range map[contracts.Flag]string{contracts.FlagTrue: `{"isPrime":true}`, contracts.FlagFalse: `{"isPrime":false}`, contracts.FlagUnknown: `{}`} {
		if b, err := json.Marshal(contracts.Offer{IsPrime: flag}); err != nil || string(b) != want {
			t.Errorf("%d: %s, %v", flag, b, err)
		}
	}
	if contracts.FlagOf(true) != contracts.FlagTrue || contracts.FlagOf(false) != contracts.FlagFalse {
		t.Error("FlagOf")
	}
}

func TestRatings(t *testing.T) {
	// FLD-04a: 0 to 5, rounded to one decimal; half a tenth goes up.
	for n := range 501 {
		text := fmt.Sprintf("%d.%02d", n/100, n%100)
		if got, want := contracts.Rating(text).Tenths(), uint8((n+5)/10); got != want {
			t.Errorf("%s: %d tenths, want %d", text, got, want)
		}
	}
	for text, want := range map[contracts.Rating]uint8{"4.27": 43, "0": 0, "5": 50, "5.0": 50, "4.": 40, "3e0": 30, "-0": 0} {
		equals.Is(t, want, text.Tenths(), "%s tenths", text)
	}
	// FLD-04c: a missing, malformed or out-of-range rating is no rating.
	for _, text := range []contracts.Rating{"", "abc", "-0.1", "5.1", "5.0000001", "NaN", "nan", "Inf", "-inf", "infinity", "0x1p2", "1_0", "4,3", " 4", "4 ", "4/5", "1e999", "--1"} {
		equals.Is(t, contracts.NoRating, text.Tenths(), "%q tenths", text)
	}
	for in, want := range map[string]contracts.Rating{`{"rating":4.27}`: "4.27", `{"rating":"4.27"}`: "4.27", `{"rating":null}`: "", `{"rating":true}`: "", `{"rating":[4]}`: "", `{}`: ""} {
		var o contracts.Offer
		if err := json.Unmarshal([]byte(in), &o); err != nil || o.Rating != want {
			t.Errorf("%s: %q, %v", in, o.Rating, err)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for i, o := range contracts.Outcomes() {
		if int(o) != i {
			t.Errorf("%s is %d", o, o)
		}
		b, err := o.MarshalText()
		var back contracts.Outcome
		if err != nil || back.UnmarshalText(b) != nil || back != o {
			t.Errorf("%s: %s, %v", o, b, err)
		}
	}
	var o contracts.Outcome
	if err := o.UnmarshalText([]byte("gone")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	s := contracts.Secret("hunter2")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "in", struct{ S contracts.Secret }{s}, "at", &s)
	b := must.Get(json.Marshal(map[string]any{"s": s, "p": &s, "in": struct{ S contracts.Secret }{s}}))(t)
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %X", s, s, s, s, s, s, s), fmt.Sprintf("%v %+v %#v", struct{ S contracts.Secret }{s}, []contracts.Secret{s}, map[string]contracts.Secret{"a": s}),
		string(b), log.String(), fmt.Errorf("with %v", s).Error(),
	} {
		if strings.Contains(shown, "hunter2") || strings.Contains(strings.ToLower(shown), fmt.Sprintf("%x", "hunter2")) || !strings.Contains(shown, "***") {
			t.Errorf("shown: %s", shown)
		}
	}
	if s.Reveal() != "hunter2" || contracts.Secret("").String() != "" {
		t.Error("reveal")
	}
	var back contracts.Secret
	if err := json.Unmarshal([]byte(`"hunter3"`), &back); err != nil || back.Reveal() != "hunter3" {
		t.Error(err)
	}
}

func TestSiteKeys(t *testing.T) {
	for key, want := range map[contracts.SiteKey]bool{
		"shop": true, "shop-1.example_x": true, "0": true, "": false, "Shop": false, "-shop": false, ".shop": false, "shop=x": false, "shop x": false, "shop\n": false, "shöp": false, "a*": false, "a>": false,
		contracts.SiteKey(strings.Repeat("a", 64)): true, contracts.SiteKey(strings.Repeat("a", 65)): false,
	} {
		if key.Valid() != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	price, negative := int64(1), int64(-1)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		v    interface{ Validate() error }
		want []string // nil: valid
	}{
		"site":    {contracts.Site{Site: "A", SiteType: "x", CountryCode: "de", CurrencyCode: "EU"}, []string{"site:", "name: missing", "siteType:", "countryCode:", "currencyCode:"}},
		"item":    {contracts.Item{EAN: "1", PZN: "1", ASIN: "1", Name: "\xff"}, []string{"itemId: missing", "ean:", "pzn:", "asin:", "asinLocale", "name: not UTF-8"}},
		"mandate": {contracts.Mandate{Package: contracts.Package{MaxItems: -1}}, []string{"mandateId", "name", "package.name", "package.maxItems"}},
		"account": {
			contracts.Account{LoginIdentifier: " Anna", PasswordHash: "plain", Permissions: []contracts.Permission{"all"}, Scope: contracts.AccountScope{AllSites: true, Sites: []contracts.SiteKey{"X"}}},
			[]string{"accountId", "mandateId", "loginIdentifier", "passwordHash", "permissions", "scope.sites", "allSites and sites"},
		},
		"order": {
			contracts.Order{Items: []contracts.ItemID{0}, Sites: []contracts.SiteKey{""}, Schedule: &contracts.Schedule{}, Counters: []contracts.SiteCounters{{ProcessedObservations: -1}}, Memberships: []contracts.Membership{{Sites: "\xff"}}},
			[]string{"orderId", "mandateId", "name", "createdAt", "items[0]", "sites[0]", "schedule.intervalMinutes", "counters[0].site", "negative", "memberships[0].itemId", "memberships[0].sites"},
		},
		"reference prices": {contracts.ReferencePrices{Prices: []contracts.ReferencePrice{{AmountMinor: -1}}}, []string{"mandateId", "itemId", "prices[0].amountMinor", "prices[0].currencyCode"}},
		"customer data":    {contracts.CustomerData{Fields: map[string]string{"": "x"}}, []string{"mandateId", "itemId", "fields"}},
		"archive": {
			contracts.FileArchive{Files: []contracts.ArchivedFile{{Filename: "../x", SizeBytes: -1}}},
			[]string{"archiveId", "fileJobId", "mandateId", "orderId", "archivedAt", "files[0].name", "files[0].filename", "files[0].sizeBytes", "files[0].sha256"},
		},
		"observations": {
			contracts.Observations{Site: "X", Observations: []contracts.Observation{
				{CapturedAt: at.AddDate(-50, 0, 0), Outcome: 99},
				{ItemID: 1, CapturedAt: at, Outcome: contracts.PriceObserved},
				{ItemID: 1, CapturedAt: at, Outcome: contracts.ProductNotFound, Offers: []contracts.Offer{{Price: &negative}}},
			}},
			[]string{"site:", "observations[0]: itemId", "capturedAt", "outcome", "observations[1]: offers", "observations[2]: offers", "price", "currencyCode"},
		},
		"no observations": {contracts.Observations{Site: "x"}, []string{"observations: 0"}},
		"a price": {contracts.Observations{Site: "x", Observations: []contracts.Observation{
			{ItemID: 1, CapturedAt: at, Outcome: contracts.PriceObserved, Offers: []contracts.Offer{{Price: &price, CurrencyCode: "EUR"}, {Merchant: "sold out"}}},
			{ItemID: 1, CapturedAt: at},
		}}, nil},
	} {
		err := test.v.Validate()
		if test.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not named in: %v", name, want, err)
			}
		}
	}
}

func TestMembershipHolds(t *testing.T) { // QUAL-04
	for text, want := range map[string]bool{
		"a.example": true, "b, a.example ,c": true, "a.example,a.example": true, "b": false,
		"": false, "a.example,": false, "a.example;b": false, "a.example,B": false, `{"sites":["a.example"]}`: false, "a.example.b": false,
	} {
		if got := (contracts.Membership{ItemID: 1, Sites: text}).Holds("a.example"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCountersAgree(t *testing.T) { // QUAL-03
	for c, want := range map[contracts.SiteCounters]bool{
		{}: true,
		{ConfiguredObservations: 3, ExpectedProcessedByNow: 3, ProcessedObservations: 3}: true,
		{ConfiguredObservations: 3, ExpectedProcessedByNow: 2, ProcessedObservations: 1}: true,
		{ConfiguredObservations: 3, ExpectedProcessedByNow: 4, ProcessedObservations: 1}: false,
		{ConfiguredObservations: 3, ExpectedProcessedByNow: 1, ProcessedObservations: 2}: false,
	} {
		equals.Is(t, want, c.Consistent(), "%+v", c)
	}
}

func TestRowsOfAnObservation(t *testing.T) {
	for n, want := range []int{1, 1, 2, 3} {
		if got := (contracts.Observation{Offers: make([]contracts.Offer, n)}).Rows(); got != want {
			t.Errorf("%d offers: %d rows", n, got)
		}
	}
}
