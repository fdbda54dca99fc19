package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// CountPairs implements query.Store. What ofFewPairs asks next is known then,
// too.
func (s *Store) CountPairs(ctx context.Context, v query.Visibility, sel query.Selectors) (size query.ScopeSize, err error) {
	p, sc := visible(v, sel)
	var all uint64
	if err = row(ctx, s, render("count_pairs.sql", sc, p), &size.Pairs, &size.Items, &size.Sites, &all); err == nil {
		s.pairCounts.Put(questionOf(v, sel), pairCounts{min(uint64(size.Pairs), manyPairs), all})
	}
	return size, err
}

func pairsBySite(v query.Visibility, sel query.Selectors) statement {
	p, sc := visible(v, sel)
	return render("pairs_by_site.sql", sc, p)
}

// PairsBySite implements query.Store.
func (s *Store) PairsBySite(ctx context.Context, v query.Visibility, sel query.Selectors) (map[contracts.SiteKey]uint64, error) {
	return byKey(ctx, s, pairsBySite(v, sel), countOfSite)
}

func countOfSite(site *contracts.SiteKey, n *uint64) []any { return []any{(*string)(site), n} }

func scopeItems(v query.Visibility, sel query.Selectors, limit int) statement {
	p, sc := visible(v, sel)
	p.uint("limit", uint64(limit))
	return render("scope_items.sql", sc, p)
}

// ScopeItems implements query.Store.
func (s *Store) ScopeItems(ctx context.Context, v query.Visibility, sel query.Selectors, limit int) ([]contracts.ItemID, error) {
	return rows(ctx, s, scopeItems(v, sel, limit), scanID[contracts.ItemID])
}
