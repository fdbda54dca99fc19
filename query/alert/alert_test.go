package alert_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query/alert"

	"pgregory.net/rapid"
)

const hour = int64(3_600_000)

// at returns a priced capture some hours after the beginning.
func at(hours int64, minor int64) alert.Capture {
	return alert.Capture{Ms: hours * hour, State: contracts.PriceObserved, Offers: []alert.Offer{{Price: minor, Shipping: -1, Currency: "EUR"}}}
}

func state(hours int64, o contracts.Outcome) alert.Capture {
	return alert.Capture{Ms: hours * hour, State: o, Offers: []alert.Offer{{Price: -1, Shipping: -1}}}
}

func none(contracts.Currency) (int64, bool) { return 0, false }

// judged returns judgements of captures, in the order in which they became
// visible.
func judged(r alert.Rule, captures []alert.Capture) (all []alert.Judged) {
	for _, c := range captures {
		all = append(all, r.Judge(c, none))
	}
	return all
}

// fired returns the captures at which a rule fires.
func fired(r alert.Rule, captures []alert.Capture) (at []int) {
	all := judged(r, captures)
	for n := range all {
		if _, fires := r.Fires(all[:n+1]); fires {
			at = append(at, n)
		}
	}
	return at
}

func TestFires(t *testing.T) {
	below := alert.Rule{Kind: alert.PriceBelow, Price: 1000, Currency: "EUR", Confirm: 1}
	with := func(r alert.Rule, confirm, rearm int) alert.Rule { r.Confirm, r.Rearm = confirm, rearm; return r }
	drop := alert.Rule{Kind: alert.PriceDrop, Percent: 10, Confirm: 1}
	out, back := alert.Rule{Kind: alert.OutOfStock, Confirm: 1}, alert.Rule{Kind: alert.BackInStock, Confirm: 1}
	yen := at(1, 5)
	yen.Offers[0].Currency = "JPY"
	held := func(hours int64, merchant string, box contracts.Flag) alert.Capture {
		c := at(hours, 900)
		c.Offers[0].Merchant, c.Offers[0].BuyBox = merchant, box
		return c
	}
	beside := func(hours, own, other int64) alert.Capture {
		c := at(hours, own)
		c.Offers[0].Merchant = "own"
		c.Offers = append(c.Offers, alert.Offer{Price: other, Shipping: -1, Currency: "EUR", Merchant: "other"})
		return c
	}
	lost := alert.Rule{Kind: alert.BuyBoxLost, OwnMerchant: "own", Confirm: 1}
	undercut := alert.Rule{Kind: alert.Undercut, OwnMerchant: "own", Confirm: 1}
	for name, c := range map[string]struct {
		rule     alert.Rule
		captures []alert.Capture
		want     string
	}{
		"below once":                 {below, []alert.Capture{at(0, 1000), at(1, 999), at(2, 998), at(3, 1000), at(4, 999)}, "[1 4]"},
		"below, the first there is":  {below, []alert.Capture{at(0, 999), at(1, 998)}, "[0]"},
		"below, another currency":    {below, []alert.Capture{at(0, 1000), yen, at(2, 999)}, "[2]"},
		"below, sold out between":    {below, []alert.Capture{at(0, 999), state(1, contracts.Unavailable), at(2, 998)}, "[0]"},
		"not re-armed":               {with(below, 1, 5), []alert.Capture{at(0, 999), at(1, 1049), at(2, 999)}, "[0]"},
		"re-armed":                   {with(below, 1, 5), []alert.Capture{at(0, 999), at(1, 1050), at(2, 999)}, "[0 2]"},
		"confirmed":                  {with(below, 2, 0), []alert.Capture{at(0, 1000), at(1, 999), at(2, 1000), at(3, 999), at(4, 998), at(5, 997)}, "[4]"},
		"confirmed after a silence":  {with(below, 3, 0), []alert.Capture{at(0, 999), at(160, 999), at(184, 999), at(208, 999), at(232, 999)}, "[3]"},
		"late":                       {below, []alert.Capture{at(0, 1000), at(2, 1000), at(1, 999), at(3, 1000)}, "[]"},
		"at the same instant":        {below, []alert.Capture{at(0, 1000), at(0, 999)}, "[1]"},
		"after a silence":            {below, []alert.Capture{at(0, 999), at(168, 999), at(337, 999)}, "[0 2]"},
		"drop":                       {drop, []alert.Capture{at(0, 1000), at(1, 900), at(2, 811), at(3, 729)}, "[1 3]"},
		"drop, up and down":          {drop, []alert.Capture{at(0, 1000), at(1, 900), at(2, 1000), at(3, 900), at(4, 1000), at(5, 899)}, "[1 5]"},
		"drop, another currency":     {drop, []alert.Capture{at(0, 1000), yen, at(2, 900)}, "[2]"},
		"drop confirmed":             {with(drop, 2, 0), []alert.Capture{at(0, 1000), at(1, 900), at(2, 1000), at(3, 890), at(4, 895)}, "[4]"},
		"drop, nothing before":       {drop, []alert.Capture{at(0, 900), at(169, 500)}, "[]"},
		"out":                        {out, []alert.Capture{at(0, 9), state(1, contracts.Unavailable), state(2, contracts.Unavailable)}, "[1]"},
		"out, never in":              {out, []alert.Capture{state(0, contracts.Unavailable)}, "[]"},
		"restricted is not out":      {out, []alert.Capture{at(0, 9), state(1, contracts.AccessRestricted), state(2, contracts.SiteUnavailable)}, "[]"},
		"restricted on the way out":  {out, []alert.Capture{at(0, 9), state(1, contracts.AccessRestricted), state(2, contracts.Unavailable)}, "[2]"},
		"restricted breaks no run":   {with(out, 2, 0), []alert.Capture{at(0, 9), state(1, contracts.Unavailable), state(2, contracts.AccessRestricted), state(3, contracts.Unavailable)}, "[3]"},
		"gone breaks a run":          {with(out, 2, 0), []alert.Capture{at(0, 9), state(1, contracts.Unavailable), state(2, contracts.ProductNotFound), state(3, contracts.Unavailable)}, "[]"},
		"gone is not out":            {out, []alert.Capture{at(0, 9), state(1, contracts.ProductNotFound)}, "[]"},
		"back":                       {back, []alert.Capture{state(0, contracts.Unavailable), at(1, 9), at(2, 8)}, "[1]"},
		"a new offer is not back":    {back, []alert.Capture{state(0, contracts.ProductNotFound), at(1, 9)}, "[]"},
		"buy box lost":               {lost, []alert.Capture{held(0, "own", contracts.FlagTrue), held(1, "other", contracts.FlagTrue), held(2, "own", contracts.FlagFalse)}, "[1]"},
		"buy box not observed":       {lost, []alert.Capture{held(0, "own", contracts.FlagTrue), held(1, "other", contracts.FlagUnknown)}, "[]"},
		"buy box of nobody":          {with(alert.Rule{Kind: alert.BuyBoxLost}, 1, 0), []alert.Capture{held(0, "a", contracts.FlagTrue), held(1, "b", contracts.FlagTrue), held(2, "b", contracts.FlagFalse)}, "[2]"},
		"undercut":                   {undercut, []alert.Capture{beside(0, 900, 900), beside(1, 900, 899), beside(2, 890, 880), beside(3, 890, 890), beside(4, 890, 889)}, "[1 4]"},
		"undercut, own is not there": {undercut, []alert.Capture{beside(0, 900, 900), at(1, 5)}, "[]"},
	} {
		if got := fmt.Sprint(fired(c.rule, c.captures)); got != c.want {
			t.Errorf("%s: fires at %s, want %s", name, got, c.want)
		}
	}
}

// Undercut of a reference price, which exists per currency.
func TestUndercutReference(t *testing.T) {
	r := alert.Rule{Kind: alert.Undercut, Confirm: 1}
	j := r.Judge(at(0, 999), func(c contracts.Currency) (int64, bool) { return 1000, c == "EUR" })
	yen := at(0, 5)
	yen.Offers[0].Currency = "JPY"
	other := r.Judge(yen, func(c contracts.Currency) (int64, bool) { return 1000, c == "EUR" })
	if j.Says != alert.Holds || j.Compared != 1000 || other.Says != alert.Nothing {
		t.Errorf("%+v, %+v", j, other)
	}
}

func TestValidate(t *testing.T) {
	for want, r := range map[string]alert.Rule{
		"":             {Kind: alert.PriceBelow, Price: 1, Currency: "EUR", Confirm: 5, Rearm: 50},
		"rule":         {Kind: "CHEAPER", Confirm: 1},
		"price":        {Kind: alert.PriceBelow, Confirm: 1},
		"percent":      {Kind: alert.PriceDrop, Percent: 100, Confirm: 1},
		"confirm":      {Kind: alert.OutOfStock, Confirm: 6},
		"rearmPercent": {Kind: alert.PriceDrop, Percent: 5, Confirm: 1, Rearm: 5},
		"ownMerchant":  {Kind: alert.OutOfStock, Confirm: 1, OwnMerchant: "a"},
		"silentFor":    {Kind: alert.OutOfStock, Confirm: 1, SilentFor: time.Hour},
	} {
		err := r.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

// A silence is whole hours from 1 to 168, and nothing else goes with it.
func TestValidateSilence(t *testing.T) {
	for silence, want := range map[time.Duration]bool{
		0: false, 59 * time.Minute: false, time.Hour: true, 90 * time.Minute: false, 168 * time.Hour: true, 169 * time.Hour: false, -time.Hour: false,
	} {
		if err := (alert.Rule{Kind: alert.NoObservation, Confirm: 1, SilentFor: silence}).Validate(); (err == nil) != want {
			t.Errorf("%s: %v", silence, err)
		}
	}
	err := alert.Rule{Kind: alert.NoObservation, Confirm: 2, SilentFor: time.Hour, Price: 1, Currency: "EUR", Percent: 1, OwnMerchant: "a", Rearm: 1}.Validate()
	for _, named := range []string{"confirm:", "price:", "percent:", "ownMerchant:", "rearmPercent:"} {
		if err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%s is not named: %v", named, err)
		}
	}
}

// ofCaptures are the kinds of rules that fire at captures.
var ofCaptures = slices.DeleteFunc(alert.Kinds(), func(k alert.Kind) bool { return k == alert.NoObservation })

// brute reports whether a rule fires, by looking at everything, with numbers of
// any size.
func brute(r alert.Rule, all []alert.Judged, n int) bool {
	week := int64(168) * hour
	span := week
	if r.Confirm > 1 {
		span *= 2
	}
	var relevant []alert.Judged
	for i := range n + 1 {
		late := slices.ContainsFunc(all[:i], func(earlier alert.Judged) bool { return earlier.Ms > all[i].Ms })
		if i == n && (late || all[n].Says == alert.Nothing) {
			return false
		}
		if late || all[i].Says == alert.Nothing || all[i].Ms < all[n].Ms-span || r.Kind == alert.PriceDrop && all[i].Offer.Currency != all[n].Offer.Currency {
			continue
		}
		relevant = append(relevant, all[i])
	}
	first := len(relevant) - r.Confirm
	if first < 0 || relevant[len(relevant)-1].Ms > relevant[first].Ms+week {
		return false
	}
	recent := func(i int) bool { return relevant[i].Ms+week >= relevant[first].Ms }
	if r.Kind == alert.PriceDrop {
		if first == 0 || !recent(first-1) {
			return false
		}
		limit := new(big.Rat).Mul(big.NewRat(relevant[first-1].Offer.Price, 1), big.NewRat(int64(100-r.Percent), 100))
		for i, j := range relevant {
			if i >= first && big.NewRat(j.Offer.Price, 1).Cmp(limit) > 0 || i < first && recent(i) && j.Offer.Price <= relevant[first].Offer.Price {
				return false
			}
		}
		return true
	}
	for i := first; i < len(relevant); i++ {
		if relevant[i].Says != alert.Holds {
			return false
		}
	}
	// Not the first of its run: as many that hold as confirm it, without another
	// between them and these, lay within a week.
	for i := first - 1; i >= 0 && recent(i) && relevant[i].Says == alert.Holds; i-- {
		if end := i + r.Confirm - 1; relevant[end].Ms <= relevant[i].Ms+week {
			return false
		}
	}
	// Backwards: the first event that decides whether the rule was armed.
	for i := first - 1; i >= 0 && recent(i); i-- {
		if relevant[i].Says == alert.Clear {
			return true
		}
		whole := i-r.Confirm+1 >= 0 && recent(i-r.Confirm+1)
		for k := i; whole && k > i-r.Confirm; k-- {
			whole = relevant[k].Says == alert.Holds
		}
		if whole {
			return false
		}
	}
	return r.Kind == alert.PriceBelow || r.Kind == alert.Undercut
}

func drawRule(t *rapid.T) alert.Rule {
	r := alert.Rule{Kind: rapid.SampledFrom(ofCaptures).Draw(t, "kind"), Confirm: rapid.IntRange(1, 3).Draw(t, "confirm")}
	switch r.Kind {
	case alert.PriceBelow:
		r.Price, r.Currency, r.Rearm = 1000, "EUR", rapid.SampledFrom([]int{0, 5, 50}).Draw(t, "rearm")
	case alert.PriceDrop:
		r.Percent = rapid.SampledFrom([]int{1, 10, 50}).Draw(t, "percent")
	case alert.Undercut:
		r.OwnMerchant = "own"
		r.Rearm = rapid.SampledFrom([]int{0, 10}).Draw(t, "rearm")
	case alert.BuyBoxLost:
		r.OwnMerchant = rapid.SampledFrom([]string{"", "own"}).Draw(t, "merchant")
	}
	return r
}

func drawCaptures(t *rapid.T, r alert.Rule) (all []alert.Capture) {
	prices := []int64{0, 500, 899, 900, 999, 1000, 1049, 1050, 1500}
	if r.Kind == alert.PriceDrop { // often prices that are exactly that many percent apart
		prices = []int64{500, 900, 1000}
	}
	now := int64(0)
	for range rapid.IntRange(1, 24).Draw(t, "captures") {
		now += rapid.SampledFrom([]int64{0, 1, 6, 24, 100, 168, 169}).Draw(t, "hours")
		ms := (now - rapid.SampledFrom([]int64{0, 0, 0, 1, 30}).Draw(t, "late")) * hour
		c := alert.Capture{Ms: ms, State: rapid.SampledFrom([]contracts.Outcome{
			contracts.PriceObserved, contracts.PriceObserved, contracts.PriceObserved, contracts.Unavailable, contracts.ProductNotFound, contracts.AccessRestricted, contracts.OutcomeUnknown,
		}).Draw(t, "state")}
		for range rapid.IntRange(1, 2).Draw(t, "offers") {
			o := alert.Offer{Price: -1, Shipping: -1}
			if c.State == contracts.PriceObserved {
				o = alert.Offer{
					Price: rapid.SampledFrom(prices).Draw(t, "price"), Shipping: -1,
					Currency: rapid.SampledFrom([]contracts.Currency{"EUR", "EUR", "JPY"}).Draw(t, "currency"),
					Merchant: rapid.SampledFrom([]string{"own", "other"}).Draw(t, "merchant"),
					BuyBox:   rapid.SampledFrom([]contracts.Flag{contracts.FlagUnknown, contracts.FlagTrue, contracts.FlagFalse}).Draw(t, "box"),
				}
			}
			c.Offers = append(c.Offers, o)
		}
		all = append(all, c)
	}
	return all
}

// TestFiresLikeAFullScan compares Fires with the brute force, and
// checks what it promises: a late capture fires nothing and changes nothing
// after it, an inconclusive one changes nothing, and a rule does not fire again
// within 168 hours before it was clear, or before the same drop was undone.
func TestFiresLikeAFullScan(t *testing.T) {
	count := map[alert.Kind]int{}
	property := func(t *rapid.T) {
		r := drawRule(t)
		captures := drawCaptures(t, r)
		must.Do(t, r.Validate())
		all := judged(r, captures)
		for n, c := range captures {
			if want := says(r, c); all[n].Says != want {
				t.Fatalf("%+v: %+v says %d, want %d", r, c, all[n].Says, want)
			}
		}
		last := -1
		for n := range all {
			before, fires := r.Fires(all[:n+1])
			if want := brute(r, all, n); fires != want {
				t.Fatalf("%+v at %d: fires %v, want %v\n%+v", r, n, fires, want, all[:n+1])
			}
			restricted := slices.Insert(slices.Clone(all[:n+1]), n, alert.Judged{Ms: all[max(0, n-1)].Ms, State: contracts.AccessRestricted})
			if _, again := r.Fires(restricted); again != fires && n > 0 {
				t.Fatalf("a capture that does not tell changes what %d fires", n)
			}
			if !fires {
				continue
			}
			count[r.Kind]++
			if slices.ContainsFunc(all[:n], func(j alert.Judged) bool { return j.Ms > all[n].Ms }) {
				t.Fatalf("a late capture fires: %d", n)
			}
			if before == nil && r.Kind != alert.PriceBelow && r.Kind != alert.Undercut {
				t.Fatalf("%d fires without a capture before", n)
			}
			if last >= 0 && r.Confirm == 1 && all[n].Ms-all[last].Ms <= 168*hour {
				undone := slices.ContainsFunc(all[last+1:n], func(j alert.Judged) bool { return j.Says == alert.Clear })
				if r.Kind == alert.PriceDrop {
					undone = all[n].Offer.Currency != all[last].Offer.Currency || all[n].Offer.Price < all[last].Offer.Price
				}
				if !undone {
					t.Fatalf("%+v fires at %d and again at %d\n%+v", r, last, n, all)
				}
			}
			last = n
		}
	}
	for range 20 { // so that the rare kinds occur too
		rapid.Check(t, property)
	}
	for _, k := range ofCaptures {
		if count[k] == 0 {
			t.Errorf("%s never fired", k)
		}
	}
	t.Log(count)
}
