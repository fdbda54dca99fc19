package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// CountPairs implements query.Store. What ofFewPairs asks next is known then,
// too.
func (s *Store) CountPairs(ctx context.Context, v query.Visibility, sel query.Selectors) (size query.ScopeSize, err error) {
	p := params{}
	st := render("count_pairs.sql", visible(p, v, sel), p)
	var all uint64
	if err = row(ctx, s, st, &size.Pairs, &size.Items, &size.Sites, &all); err == nil {
		s.pairCounts.Put(questionOf(v, sel), pairCounts{min(uint64(size.Pairs), manyPairs), all})
	}
	return size, err
}

func pairsBySite(v query.Visibility, sel query.Selectors) statement {
	p := params{}
	return render("pairs_by_site.sql", visible(p, v, sel), p)
}

// PairsBySite implements query.Store.
func (s *Store) PairsBySite(ctx context.Context, v query.Visibility, sel query.Selectors) (map[contracts.SiteKey]uint64, error) {
	return countsBySite(ctx, s, pairsBySite(v, sel))
}

// countsBySite runs a statement that returns sites, each with a number.
func countsBySite(ctx context.Context, s *Store, st statement) (map[contracts.SiteKey]uint64, error) {
	type sitePairs struct {
		site  contracts.SiteKey
		pairs uint64
	}
	found, err := rows(ctx, s, st, func(r driver.Rows) (n sitePairs, err error) {
		err = r.Scan((*string)(&n.site), &n.pairs)
		return n, err
	})
	all := make(map[contracts.SiteKey]uint64, len(found))
	for _, n := range found {
		all[n.site] = n.pairs
	}
	return all, err
}

func scopeItems(v query.Visibility, sel query.Selectors, limit int) statement {
	p := params{}
	sc := visible(p, v, sel)
	p.uint("limit", uint64(limit))
	return render("scope_items.sql", sc, p)
}

// ScopeItems implements query.Store.
func (s *Store) ScopeItems(ctx context.Context, v query.Visibility, sel query.Selectors, limit int) ([]contracts.ItemID, error) {
	return rows(ctx, s, scopeItems(v, sel, limit), scanID[contracts.ItemID])
}
