package maps

import (
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
