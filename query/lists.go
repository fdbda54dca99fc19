package query

import (
	"context"

	"preismon/contracts"
)

// SitesRequest asks for visible sites.
type SitesRequest struct {
	Limit  *int              `json:"-"`
	Cursor string            `json:"-"`
	Site   contracts.SiteKey `json:"site,omitempty"`
}

// SitesQuery is what the store is asked: sites after a key.
type SitesQuery struct {
	Site, After contracts.SiteKey
	Limit       int
}

// Sites lists the sites at which the caller sees at least one item, by key.
func (s *Service) Sites(ctx context.Context, p Principal, r SitesRequest) (*Page[contracts.Site], error) {
	return list(ctx, s, p, listing[contracts.Site, contracts.SiteKey]{
		route: "sites", area: contracts.ReadSites, limit: r.Limit, cursor: r.Cursor, query: r,
		read: func(v Visibility, after contracts.SiteKey, limit int) ([]contracts.Site, error) {
			return s.store.Sites(ctx, v, SitesQuery{Site: r.Site, After: after, Limit: limit})
		},
		key: func(site contracts.Site) contracts.SiteKey { return site.Site },
	})
}

// ItemsRequest asks for visible items. The identifiers combine as an
// intersection.
type ItemsRequest struct {
	Limit      *int             `json:"-"`
	Cursor     string           `json:"-"`
	ItemID     contracts.ItemID `json:"itemId,omitempty"`
	EAN        string           `json:"ean,omitempty"`
	PZN        string           `json:"pzn,omitempty"`
	ASIN       string           `json:"asin,omitempty"`
	ASINLocale string           `json:"asinLocale,omitempty"`
}

// ItemsQuery is what the store is asked: items after an id.
type ItemsQuery struct {
	ItemID                     contracts.ItemID
	EAN, PZN, ASIN, ASINLocale string
	After                      contracts.ItemID
	Limit                      int
}

// Items lists the items that the caller sees at one site or more, by id.
func (s *Service) Items(ctx context.Context, p Principal, r ItemsRequest) (*Page[contracts.Item], error) {
	if r.ASIN != "" && r.ASINLocale == "" {
		return nil, invalid("asin: needs asinLocale beside it.")
	}
	return list(ctx, s, p, listing[contracts.Item, contracts.ItemID]{
		route: "items", area: contracts.ReadItems, limit: r.Limit, cursor: r.Cursor, query: r,
		read: func(v Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
			return s.store.Items(ctx, v, ItemsQuery{
				ItemID: r.ItemID, EAN: r.EAN, PZN: r.PZN, ASIN: r.ASIN, ASINLocale: r.ASINLocale, After: after, Limit: limit,
			})
		},
		key: func(i contracts.Item) contracts.ItemID { return i.ItemID },
	})
}

// listing is one list of records that are ordered by a unique key.
type listing[T, K any] struct {
	route  string
	area   contracts.Permission
	limit  *int
	cursor string
	query  any
	read   func(v Visibility, after K, limit int) ([]T, error)
	key    func(T) K
}

// list reads one page and one record more, which tells whether a next page
// exists.
func list[T, K any](ctx context.Context, s *Service, p Principal, l listing[T, K]) (*Page[T], error) {
	limit, err := pageLimit(l.limit, MaxLimit)
	if err != nil {
		return nil, err
	}
	a, err := s.access(ctx, p, l.area)
	if err != nil {
		return nil, err
	}
	bound := binding{Account: p.Account, Route: l.route, Query: l.query}
	var after K
	if l.cursor != "" {
		if err := s.seal.openCursor(bound, l.cursor, &after); err != nil {
			return nil, err
		}
	}
	page := &Page[T]{Data: []T{}, Paging: Paging{Limit: limit}, Query: l.query}
	if a.Visibility.Nothing() {
		return page, nil
	}
	found, err := l.read(a.Visibility, after, limit+1)
	if err != nil {
		return nil, err
	}
	if len(found) > limit {
		found = found[:limit]
		if page.Paging.NextCursor, err = s.seal.sealCursor(bound, l.key(found[limit-1])); err != nil {
			return nil, err
		}
	}
	page.Data = append(page.Data, found...)
	page.Paging.Returned = len(found)
	return page, nil
}
