package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

func itemsNamed(v query.Visibility, names query.ItemNames) statement {
	p, sc := visible(v, query.Selectors{})
	texts(p, "eans", names.EANs)
	texts(p, "pzns", names.PZNs)
	uints(p, "items", names.Items)
	asins := make([]string, len(names.ASINs))
	for i, a := range names.ASINs {
		asins[i] = a[0] + " " + a[1]
	}
	texts(p, "asins", asins)
	return render("items_named.sql", sc, p)
}

// ItemsNamed implements query.Store.
func (s *Store) ItemsNamed(ctx context.Context, v query.Visibility, names query.ItemNames) ([]contracts.Item, error) {
	return rows(ctx, s, itemsNamed(v, names), scanItem)
}
