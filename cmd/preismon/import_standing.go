package main

import (
	"context"
	"strings"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/ingest/maps"
)

// standing reads the sites and orders of the catalogue, and the items that are
// wanted, as they are after what was published so far.
func (r *importRun) standing(ctx context.Context, wanted func(contracts.ItemID) bool) (*maps.Standing, error) {
	if _, err := r.pub.Flush(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.read, err = ingest.End(ctx, r.bus.js, event.StreamCatalog); err != nil {
		return nil, err
	}
	all := maps.NewStanding(r.Mandate)
	for e, err := range ingest.InForce(ctx, r.bus.js, func(subject string) bool { return needed(subject, wanted) }) {
		if err != nil {
			return nil, err
		}
		all.Add(e.Data)
	}
	return all, nil
}

// needed reports whether the record of a subject is a site, an order or an item
// that is wanted. Other items, of which there may be many, are not decoded.
func needed(subject string, wanted func(contracts.ItemID) bool) bool {
	if item, ok := strings.CutPrefix(subject, "catalog.item."); ok {
		id, err := contracts.ParseID[contracts.ItemID](item)
		return err == nil && wanted(id)
	}
	return strings.HasPrefix(subject, "catalog.site.") || strings.HasPrefix(subject, "catalog.order.")
}
