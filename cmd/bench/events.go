package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// producer produces events of the same market in Go, for what goes through
// JetStream.
type producer struct {
	rnd   *rand.Rand
	items []item
	at    time.Time
}

func (d *dataSet) producer(seed uint64, at time.Time) *producer {
	return &producer{rnd: rand.New(rand.NewPCG(seed, 2)), items: d.items, at: at}
}

var deliveryTexts = []string{"sofort lieferbar", "Auf Lager", "1-3 Werktage", "Lieferung morgen", "versandfertig in 24 Stunden", "Lieferzeit 5-7 Tage"}

// event returns a batch of captures of one site.
func (p *producer) event(captures int) *event.Event {
	group, place := p.rnd.IntN(groups), p.rnd.IntN(sitesOfItem)
	number := sitesOf(group)[place]
	site, market := siteName(number), place == shops
	o := &contracts.Observations{Site: contracts.SiteKey(site), Observations: make([]contracts.Observation, captures)}
	for i := range o.Observations {
		it := &p.items[group*itemsOfGroup+int(itemsOfGroup*math.Pow(p.rnd.Float64(), skew))]
		obs := &o.Observations[i]
		obs.ItemID, obs.CapturedAt, obs.Outcome = contracts.ItemID(it.id), p.at.Add(time.Duration(i)*310*time.Millisecond), contracts.PriceObserved
		if luck := p.rnd.IntN(100); luck >= 96 {
			obs.Outcome = contracts.Unavailable
			continue
		}
		n := 1
		if market {
			n = 1 + p.rnd.IntN(5)
		}
		for k := range n {
			price, shipping := it.base*int64(90+p.rnd.IntN(20))/100+int64(37*k)+1, int64(499)
			of := contracts.Offer{
				Price: &price, Shipping: &shipping, CurrencyCode: "EUR", Manufacturer: it.maker, Title: it.name,
				DeliveryText: deliveryTexts[p.rnd.IntN(len(deliveryTexts))],
			}
			if market {
				merchant := p.rnd.IntN(1920)
				of.Merchant, of.IsPrime, of.IsBuyBox = fmt.Sprintf("Händler %d GmbH", merchant), contracts.FlagOf(k%3 == 0), contracts.FlagOf(k == 0)
				of.URL = fmt.Sprintf("https://www.%s/p/%s-%d?m=%d", site, it.slug, it.id, merchant)
			} else {
				of.Merchant = fmt.Sprintf("Shop %d", number+1)
				of.URL = fmt.Sprintf("https://www.%s/p/%s-%d?ref=pm", site, it.slug, it.id)
			}
			obs.Offers = append(obs.Offers, of)
		}
	}
	p.at = p.at.Add(500 * time.Millisecond)
	return &event.Event{ID: uuid.NewString(), Kind: event.KindObservations, Producer: "preismon bench", ProducedAt: p.at.Add(time.Minute), Data: o}
}
