package market

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Catalog returns the master data, each record after those that it refers to:
// sites, items, mandates, orders, accounts, reference prices, customer data,
// export and import definitions, and their archived files. Orders are as of
// Config.Now. A record that a later start returns unchanged has the same bytes.
func (m *Market) Catalog() iter.Seq[*event.Event] {
	return joined(
		each(m.sites, func(s site) *event.Event { return m.record(event.KindSite, founded, &s.Site) }),
		each(m.items, func(it item) *event.Event { return m.record(event.KindItem, founded, &it.Item) }),
		each(m.mandates, func(c *mandate) *event.Event {
			rec := c.Mandate
			return m.record(event.KindMandate, founded, &rec)
		}),
		m.Orders(m.cfg.Now),
		each(m.accounts, func(a account) *event.Event {
			a.PasswordHash = m.hashes()[a.LoginIdentifier]
			return m.record(event.KindAccount, founded, &a.Account)
		}),
		m.customerRecords(),
		m.fileRecords(),
	)
}

// each yields what record returns for each of all.
func each[T any](all []T, record func(T) *event.Event) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for _, one := range all {
			if !yield(record(one)) {
				return
			}
		}
	}
}

// joined yields one part after the other.
func joined(parts ...iter.Seq[*event.Event]) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for _, part := range parts {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Orders returns the orders as they are at that time: schedule and counters
// advance, the rest stays the same.
func (m *Market) Orders(at time.Time) iter.Seq[*event.Event] {
	at = at.UTC().Truncate(time.Second)
	return each(m.orders, func(o *order) *event.Event {
		rec := m.order(o, at)
		return m.record(event.KindOrder, at, &rec)
	})
}

// order returns the record of an order at a time: when its runs were and will
// be, and what its source has counted since midnight UTC.
func (m *Market) order(o *order, at time.Time) contracts.Order {
	if o.novelties {
		return m.novelties(o, at)
	}
	rec := o.Order
	rec.Items, rec.Sites = slices.Clone(o.Items), slices.Clone(o.Sites)
	if o.Schedule == nil {
		return rec
	}
	schedule := *o.Schedule
	rec.Schedule = &schedule
	if !rec.Active {
		last := founded.AddDate(0, 0, 2)
		schedule.LastRunAt = &last
		return rec
	}
	var last, next int64
	now := at.UnixMilli()
	for _, key := range o.Sites {
		var groups [2]bool // whether pairs of the order are captured at the normal rate, or more often
		for _, id := range o.Items {
			if p := m.byPair[contracts.Pair{Item: id, Site: key}]; p != nil && p.hot {
				groups[1] = true
			} else if p != nil {
				groups[0] = true
			}
		}
		day, due := 0, 0
		for i := range m.rhythms {
			r := &m.rhythms[i]
			if r.uncounted() || m.sites[r.site].Site.Site != key || !groups[0] && !r.hot || !groups[1] && r.hot {
				continue
			}
			for run := (now - r.offset - msDay) / r.interval; ; run++ {
				start, ok := m.start(r, run)
				if ok && start > now {
					if next == 0 || start < next {
						next = start
					}
					break
				}
				if ok {
					last = max(last, start)
				}
			}
			// An order over both groups is counted by the slower one: each of
			// its pairs is captured at least that often.
			if d, n := r.runsPerDay(at.Sub(at.Truncate(24 * time.Hour))); day == 0 || d < day {
				day, due = d, n
			}
		}
		c := contracts.SiteCounters{Site: key, ConfiguredObservations: day, ExpectedProcessedByNow: due, ProcessedObservations: due}
		if o.conflicting && key == o.Sites[0] { // more due than configured, and still more done
			c.ExpectedProcessedByNow, c.ProcessedObservations = day+2, day+5
		}
		rec.Counters = append(rec.Counters, c)
	}
	lastRun, nextRun := time.UnixMilli(last).UTC(), time.UnixMilli(next).UTC()
	schedule.LastRunAt, schedule.NextRunAt = &lastRun, &nextRun
	return rec
}

// watched returns the items of a mandate, each once, in the order of its
// orders.
func (c *mandate) watched() []contracts.ItemID {
	var ids []contracts.ItemID
	seen := map[contracts.ItemID]bool{}
	for _, o := range c.orders {
		if !o.Active {
			continue
		}
		for _, id := range o.Items {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (m *Market) customerRecords() iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for _, c := range m.mandates {
			for place, id := range c.watched() {
				if prices := m.references(c, m.byID[id], place); prices != nil {
					rec := contracts.ReferencePrices{MandateID: c.MandateID, ItemID: id, Prices: prices}
					if !yield(m.record(event.KindReferencePrices, founded, &rec)) {
						return
					}
				}
				if c.categories {
					rec := m.customerData(c, m.byID[id], place)
					if !yield(m.record(event.KindCustomerData, founded, &rec)) {
						return
					}
				}
			}
		}
	}
}

// references returns the reference prices of a mandate for the item at that
// place of its assortment; nil: none on record. The first items cover one case
// each, the others usually have one price.
func (m *Market) references(c *mandate, it *item, place int) []contracts.ReferencePrice {
	if !c.references {
		return nil
	}
	h := m.draw(drawCustomer, it.hash, uint64(c.MandateID))
	base := it.base*int64(9_700+h%1_300)/10_000 + 1
	eur := func(share int64, site contracts.SiteKey, quantity, kind string) contracts.ReferencePrice {
		return contracts.ReferencePrice{AmountMinor: max(1, base*share/100), CurrencyCode: "EUR", AppliesToSite: site, ReferenceQuantity: quantity, PriceType: kind}
	}
	here := c.orders[0].Sites
	switch place {
	case 0: // one
		return []contracts.ReferencePrice{eur(100, "", "", "UVP")}
	case 1: // several, by type and by quantity
		return []contracts.ReferencePrice{eur(100, "", "1 St", "UVP"), eur(62, "", "1 St", "Einkauf"), eur(58, "", "10 St", "Einkauf"), eur(95, "", "1 St", "Aktion")}
	case 2: // one for each of two sites, and one for the rest
		return []contracts.ReferencePrice{eur(100, "", "", "UVP"), eur(97, here[0], "", "UVP"), eur(93, here[1], "", "UVP")}
	case 3: // two that contradict each other
		return []contracts.ReferencePrice{eur(100, "", "", "UVP"), eur(104, "", "", "UVP")}
	case 4: // the same twice
		return []contracts.ReferencePrice{eur(100, "", "", "UVP"), eur(100, "", "", "UVP")}
	case 5: // for one site only
		return []contracts.ReferencePrice{eur(99, here[1], "", "UVP")}
	case 6: // in every currency
		return []contracts.ReferencePrice{
			eur(100, "", "", "UVP"),
			{AmountMinor: convert(base, "JPY"), CurrencyCode: "JPY", PriceType: "UVP"},
			{AmountMinor: convert(base, "KWD"), CurrencyCode: "KWD", PriceType: "UVP"},
		}
	case 7: // withdrawn: the list exists, and is empty
		return []contracts.ReferencePrice{}
	}
	if it.category == catJapan {
		return []contracts.ReferencePrice{{AmountMinor: convert(base, "JPY"), CurrencyCode: "JPY", PriceType: "UVP"}}
	}
	if chance(h, 6_000) {
		return []contracts.ReferencePrice{eur(100, "", "", "UVP")}
	}
	return nil
}

// Names of the categories in the customers' words.
var customerCategories = map[string][]string{
	catElectronics: {"Audio & TV", "Haushaltsgeräte", "Zubehör"},
	catToys:        {"Bauen", "Spiele", "Kuscheltiere & Räder"},
	catDrugstore:   {"Körperpflege", "Wäsche"},
	catGroceries:   {"Trockensortiment", "Frische"},
	catPharmacy:    {"OTC", "Freiverkäuflich", "Nahrungsergänzung"},
	catFrance:      {"Export / FR"},
	catJapan:       {"Export / JP"},
}

var buyers = []string{"Frau Özdemir", "Herr Lüders", "Team Süd", "N. N."}

func (m *Market) customerData(c *mandate, it *item, place int) contracts.CustomerData {
	h := m.draw(drawCustomer, it.hash, ^uint64(c.MandateID))
	names := customerCategories[it.category]
	rec := contracts.CustomerData{
		MandateID: c.MandateID, ItemID: it.ItemID, Category: names[h%uint64(len(names))],
		Fields: map[string]string{
			"Artikelnummer": fmt.Sprintf("D-%06d", place+1),
			"Einkauf":       buyers[h>>8%uint64(len(buyers))],
		},
	}
	switch {
	case place == 0: // looks like a price and is not one (FLD-08)
		rec.Fields["Referenzpreis"] = "199,99 EUR"
		rec.Fields["referencePrice"] = "199.99"
	case place == 1:
		rec.Fields["Bemerkung"] = "Backslash \\N, \"Anführung\" und\tTabulator\nzweite Zeile"
	case h%10 == 0:
		rec.Category = "" // in no category
	case h%10 == 1:
		rec.Fields["Bemerkung"] = "Auslaufartikel"
	}
	return rec
}
