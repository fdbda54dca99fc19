package market_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// facts are what a range of observations showed.
type facts struct {
	events, observations, rows, late, ties, spread int
	outcomes                                       map[contracts.Outcome]int
	currencies                                     map[contracts.Currency]int
	prime, buyBox                                  map[contracts.Flag]int
	ratings                                        map[string]int
	hours                                          map[contracts.SiteKey]map[int]bool
	seen                                           map[string]int
}

func gather(t *testing.T, m *market.Market, from, to time.Time, check func(*event.Event)) facts {
	t.Helper()
	f := facts{
		outcomes: map[contracts.Outcome]int{}, currencies: map[contracts.Currency]int{},
		prime: map[contracts.Flag]int{}, buyBox: map[contracts.Flag]int{}, ratings: map[string]int{},
		hours: map[contracts.SiteKey]map[int]bool{}, seen: map[string]int{},
	}
	sites := map[contracts.SiteKey]contracts.Site{}
	for e := range m.Catalog() {
		if s, ok := e.Data.(*contracts.Site); ok {
			sites[s.Site] = *s
			f.hours[s.Site] = map[int]bool{}
		}
	}
	ids := map[string]bool{}
	last := from
	for e := range m.Observations(from, to) {
		check(e)
		if ids[e.ID] {
			t.Fatalf("event id %s comes twice", e.ID)
		}
		ids[e.ID] = true
		if e.ProducedAt.Before(last) || !e.ProducedAt.Before(to) {
			t.Fatalf("event %s at %s, after one at %s", e.ID, e.ProducedAt, last)
		}
		last = e.ProducedAt
		b := e.Data.(*contracts.Observations)
		site := sites[b.Site]
		f.events++
		f.observations += len(b.Observations)
		newest := b.Observations[len(b.Observations)-1].CapturedAt
		if newest.After(e.ProducedAt) {
			t.Fatalf("event %s captured after it was produced", e.ID)
		}
		if delay := e.ProducedAt.Sub(b.Observations[0].CapturedAt); delay > m.MaxDelay() {
			t.Fatalf("event %s published %s after a capture, more than %s", e.ID, delay, m.MaxDelay())
		}
		if e.ProducedAt.Sub(newest) >= time.Hour {
			f.late++
		}
		if len(b.Observations) > 1 && newest.Equal(b.Observations[0].CapturedAt) {
			f.ties++
		} else if len(b.Observations) > 1 {
			f.spread++
		}
		for i := range b.Observations {
			o := &b.Observations[i]
			f.rows += o.Rows()
			f.outcomes[o.Outcome]++
			f.hours[b.Site][o.CapturedAt.Hour()] = true
			boxes := 0
			for j := range o.Offers {
				of := &o.Offers[j]
				if of.Price != nil {
					f.currencies[of.CurrencyCode]++
					if of.CurrencyCode != site.CurrencyCode {
						t.Fatalf("%s sells in %s", b.Site, of.CurrencyCode)
					}
				}
				if site.CanonicalCountryMarket {
					f.prime[of.IsPrime]++
					f.buyBox[of.IsBuyBox]++
				} else if of.IsPrime != contracts.FlagUnknown {
					f.seen["prime outside country markets"]++
				}
				if of.IsBuyBox == contracts.FlagTrue {
					boxes++
				}
				switch tenths := of.Rating.Tenths(); {
				case of.Rating == "":
					f.ratings["none"]++
				case !site.PriceComparisonMarket:
					f.ratings["elsewhere"]++
				case tenths == contracts.NoRating:
					f.ratings["unusable"]++
				default:
					f.ratings["good"]++
				}
				switch {
				case of.Price == nil && o.Outcome == contracts.PriceObserved:
					f.seen["offer without a price"]++
				case of.Price == nil:
					f.seen["unavailable with its page"]++
				case of.Shipping == nil:
					f.seen["no shipping told"]++
				case *of.Shipping == 0:
					f.seen["free shipping"]++
				default:
					f.seen["shipping"]++
				}
			}
			if boxes > 1 {
				t.Fatalf("%d buy boxes", boxes)
			}
			if site.SiteType != contracts.Shop && len(o.Offers) > 1 {
				f.seen["several offers"]++
			}
		}
	}
	return f
}

// TestFortnight: the fortnight of the demo at full size has about a million
// rows, of every kind.
func TestFortnight(t *testing.T) {
	m := newMarket(t, market.Config{Seed: 1})
	from := now.AddDate(0, 0, -14)
	n := 0
	f := gather(t, m, from, now, func(e *event.Event) {
		if n++; n%8 == 0 {
			encode(t, e)
		} else if n%8 == 1 {
			must.Do(t, e.Validate())
		}
	})
	t.Logf("%d events, %d observations, %d rows, %d late; %v %v prime %v box %v ratings %v %v",
		f.events, f.observations, f.rows, f.late, f.outcomes, f.currencies, f.prime, f.buyBox, f.ratings, f.seen)
	if f.rows < 900_000 || f.rows > 1_200_000 {
		t.Errorf("%d rows, want 0.9 to 1.2 million", f.rows)
	}
	v := m.Volume(from, now)
	if v.Events != f.events || v.Observations != f.observations {
		t.Errorf("volume %+v, counted %d events of %d observations", v, f.events, f.observations)
	}
	if d := float64(v.Rows)/float64(f.rows) - 1; d < -0.04 || d > 0.04 {
		t.Errorf("estimated %d rows of %d", v.Rows, f.rows)
	}
	for _, o := range contracts.Outcomes() {
		if f.outcomes[o] < 50 {
			t.Errorf("outcome %s occurs %d times", o, f.outcomes[o])
		}
	}
	for _, c := range []contracts.Currency{"EUR", "JPY", "KWD"} {
		if f.currencies[c] < 1_000 {
			t.Errorf("%s occurs %d times", c, f.currencies[c])
		}
	}
	if len(f.currencies) != 3 {
		t.Errorf("currencies %v", f.currencies)
	}
	for _, flag := range []contracts.Flag{contracts.FlagFalse, contracts.FlagTrue, contracts.FlagUnknown} {
		if f.prime[flag] < 1_000 || f.buyBox[flag] < 1_000 {
			t.Errorf("flags prime %v, buy box %v", f.prime, f.buyBox)
		}
	}
	for _, what := range []string{"none", "elsewhere", "unusable", "good"} {
		if f.ratings[what] < 500 {
			t.Errorf("ratings %v", f.ratings)
		}
	}
	for _, what := range []string{
		"prime outside country markets", "offer without a price", "unavailable with its page",
		"no shipping told", "free shipping", "shipping", "several offers",
	} {
		if f.seen[what] < 100 {
			t.Errorf("%s occurs %d times", what, f.seen[what])
		}
	}
	if share := float64(f.late) / float64(f.events); share < 0.005 || share > 0.02 {
		t.Errorf("%.4f of the events are late", share)
	}
	if f.ties < 1_000 || f.spread < 1_000 {
		t.Errorf("%d events share one instant, %d do not", f.ties, f.spread)
	}
	for site, quiet := range map[contracts.SiteKey]int{"demo-spielzeugkiste.example": 2, "demo-apotheke-sued.example": 2} {
		if f.hours[site][quiet] {
			t.Errorf("%s is captured at %d o'clock", site, quiet)
		}
	}
}
