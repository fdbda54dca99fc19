package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// Items implements query.Store.
func (s *Store) Items(ctx context.Context, v query.Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
	p, sc := visible(v, query.Selectors{})
	p.uint("after", uint64(after))
	p.uint("limit", uint64(limit))
	return rows(ctx, s, render("items.sql", sc, p), scanItem)
}

// candidatesShape is what item_candidates.sql depends on.
type candidatesShape struct {
	scope
	Category bool
}

func itemCandidates(v query.Visibility, q query.ItemsQuery) statement {
	p, sc := visible(v, query.Selectors{})
	sh := candidatesShape{sc, q.Category != ""}
	p.uint("item", uint64(q.ItemID))
	texts(p, "eans", contracts.EANForms(q.EAN))
	p.text("pzn", q.PZN)
	p.text("asin", q.ASIN)
	p.text("asin_locale", q.ASINLocale)
	if sh.Category {
		p.text("category", q.Category)
	}
	p.uint("after", uint64(q.After))
	p.uint("limit", uint64(q.Limit))
	return render("item_candidates.sql", sh, p)
}

// ItemCandidates implements query.Store.
func (s *Store) ItemCandidates(ctx context.Context, v query.Visibility, q query.ItemsQuery) ([]contracts.ItemID, error) {
	return rows(ctx, s, itemCandidates(v, q), scanID[contracts.ItemID])
}

func itemsOf(v query.Visibility, candidates []contracts.ItemID, limit int) statement {
	p, sc := visible(v, query.Selectors{})
	uints(p, "items", candidates)
	p.uint("limit", uint64(limit))
	return render("items_of.sql", sc, p)
}

// VisibleItems implements query.Store.
func (s *Store) VisibleItems(ctx context.Context, v query.Visibility, candidates []contracts.ItemID, limit int) ([]contracts.Item, error) {
	return rows(ctx, s, itemsOf(v, candidates, limit), scanItem)
}

func categories(v query.Visibility, q query.CategoriesQuery) statement {
	p, sc := visible(v, query.Selectors{})
	p.text("category", q.Category)
	p.uint("limit", uint64(q.Limit))
	return render("categories.sql", sc, p)
}

// Categories implements query.Store.
func (s *Store) Categories(ctx context.Context, v query.Visibility, q query.CategoriesQuery) ([]string, error) {
	return rows(ctx, s, categories(v, q), scanText)
}

// ASINLocales implements query.Store.
func (s *Store) ASINLocales(ctx context.Context, v query.Visibility, limit int) ([]string, error) {
	p, sc := visible(v, query.Selectors{})
	p.uint("limit", uint64(limit))
	return rows(ctx, s, render("asin_locales.sql", sc, p), scanText)
}

var scanText = into(func(text *string) []any { return []any{text} })

// ItemRecords implements query.Store.
func (s *Store) ItemRecords(ctx context.Context, items []contracts.ItemID) ([]contracts.Item, error) {
	p := params{}
	uints(p, "items", items)
	return rows(ctx, s, render("item_records.sql", nil, p), scanItem)
}

var scanItem = into(func(i *contracts.Item) []any {
	return []any{(*uint64)(&i.ItemID), &i.EAN, &i.PZN, &i.ASIN, &i.ASINLocale, &i.Name, &i.Brand, &i.Manufacturer}
})
