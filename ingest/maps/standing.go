package maps

import (
	"cmp"
	"context"
	"strings"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Standing is what the catalogue holds when an import publishes its records.
type Standing struct {
	Sites  map[contracts.SiteKey]*contracts.Site
	Items  map[contracts.ItemID]*contracts.Item
	Orders map[contracts.OrderID]*contracts.Order // of the mandate

	// What the orders of other mandates name: they see it, too.
	OthersSites map[contracts.SiteKey]bool
	OthersItems map[contracts.ItemID]bool

	mandate contracts.MandateID
}

// NewStanding returns an empty catalogue for an import for the mandate.
func NewStanding(mandate string) *Standing {
	return &Standing{
		Sites: map[contracts.SiteKey]*contracts.Site{}, Items: map[contracts.ItemID]*contracts.Item{}, Orders: map[contracts.OrderID]*contracts.Order{},
		OthersSites: map[contracts.SiteKey]bool{}, OthersItems: map[contracts.ItemID]bool{},
		mandate: MandateID(strings.TrimSpace(mandate)),
	}
}

// Add adds a current record of the catalogue.
func (s *Standing) Add(record event.Payload) {
	switch r := record.(type) {
	case *contracts.Site:
		s.Sites[r.Site] = r
	case *contracts.Item:
		s.Items[r.ItemID] = r
	case *contracts.Order:
		if r.MandateID == s.mandate {
			s.Orders[r.OrderID] = r
			return
		}
		for _, site := range r.Sites {
			s.OthersSites[site] = true
		}
		for _, item := range r.Items {
			s.OthersItems[item] = true
		}
	}
}

// site publishes a site, unless the catalogue has it so already. Its facts are
// changed only by a mapping that names it, and while no other mandate has it in
// an order: all mandates see the same facts.
func (im *importer) site(ctx context.Context, s *site) error {
	key := s.Site.Site
	standing := im.standing.Sites[key]
	switch {
	case standing == nil:
	case *standing == s.Site:
		return nil
	case !s.listed || im.standing.OthersSites[key]:
		im.sum.KeptSites++
		return nil
	}
	return im.record(ctx, event.KindSite, &s.Site)
}

// item publishes an item, unless the catalogue has it so already. What the file
// does not say of it stays, and all of it if other mandates see it.
func (im *importer) item(ctx context.Context, it contracts.Item) error {
	if standing := im.standing.Items[it.ItemID]; standing != nil {
		complete(&it, standing)
		if it == *standing {
			return nil
		}
		if im.standing.OthersItems[it.ItemID] {
			im.sum.Named++
			return nil
		}
	}
	return im.record(ctx, event.KindItem, &it)
}

// complete fills the fields of an item that are empty.
func complete(it, from *contracts.Item) {
	it.EAN, it.PZN = cmp.Or(it.EAN, from.EAN), cmp.Or(it.PZN, from.PZN)
	if it.ASIN == "" {
		it.ASIN, it.ASINLocale = from.ASIN, from.ASINLocale
	}
	it.Name, it.Brand, it.Manufacturer = cmp.Or(it.Name, from.Name), cmp.Or(it.Brand, from.Brand), cmp.Or(it.Manufacturer, from.Manufacturer)
}
