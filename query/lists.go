package query

import (
	"context"

	"preismon/contracts"
)

// SitesRequest requests visible sites.
type SitesRequest struct {
	Limit  *int              `json:"-"`
	Cursor string            `json:"-"`
	Site   contracts.SiteKey `json:"site,omitempty"`
}

// SitesQuery is a query to the store: sites after a key.
type SitesQuery struct {
	Site, After contracts.SiteKey
	Limit       int
}

// Sites lists the sites at which the caller sees at least one item, by key.
func (s *Service) Sites(ctx context.Context, p Principal, r SitesRequest) (*Page[contracts.Site], error) {
	key := func(site contracts.Site) contracts.SiteKey { return site.Site }
	return list(ctx, s, p, listing[contracts.Site, contracts.SiteKey]{
		route: "sites", area: contracts.ReadSites, limit: r.Limit, cursor: r.Cursor, query: r, key: key, record: explainedSite,
		read: ahead(key,
			func(ctx context.Context, v Visibility, after contracts.SiteKey, limit int) ([]contracts.Site, error) {
				return s.store.Sites(ctx, v, SitesQuery{Site: r.Site, After: after, Limit: limit})
			}),
	})
}

// listing is one list of records that are ordered by a unique key.
type listing[T, K any] struct {
	route  string
	area   contracts.Permission
	limit  *int
	cursor string
	query  any
	key    func(T) K // of a record
	wrong  error     // with the query, refused together with a wrong limit; nil: nothing
	room   int64     // bytes that the list takes in addition to its records
	// record is the maximum size of a record as JSON, if no record refuses the
	// list: it is then explained by its limit. 0: it is made to be explained.
	record uint64
	// of, if not nil, finds what the list belongs to.
	of func(ctx context.Context, v Visibility) error
	// read returns at most limit records after a key, and the key after which
	// the next page continues; nil: there is none.
	read func(ctx context.Context, v Visibility, after K, limit int) (records []T, next *K, err error)
}

// list reads one page.
func list[T, K any](ctx context.Context, s *Service, p Principal, l listing[T, K]) (_ *Page[T], err error) {
	limit, err := pageLimit(l.limit, MaxLimit)
	if err = joinFaults(l.wrong, err); err != nil {
		return nil, err
	}
	ctx, cancel := s.within(ctx) // waiting for room counts
	defer cancel()
	defer func() { err = s.listBudget(ctx, err, limit) }()
	giveBack, err := s.Charge(ctx, listRoom(limit)+l.room)
	if err != nil {
		return nil, err
	}
	defer giveBack() // the JSON is charged where it is sent
	a, err := s.access(ctx, p, l.area)
	if err != nil {
		return nil, err
	}
	if l.of != nil {
		if err := l.of(ctx, a.Visibility); err != nil {
			return nil, err
		}
	}
	bound := binding{Account: p.Account, Route: l.route, Query: l.query}
	var after K
	if l.cursor != "" {
		if err := s.seal.openCursor(bound, l.cursor, &after); err != nil {
			return nil, err
		}
	}
	page := &Page[T]{Data: []T{}, Paging: Paging{Limit: limit}, Query: l.query}
	if a.Visibility.Empty() {
		return page, nil
	}
	if e := explaining(ctx); e != nil {
		if e.Rows = new(uint64(limit)); l.record > 0 {
			return nil, e.list(l.record, s.cfg.MaxResponseBytes)
		}
	}
	found, next, err := l.read(ctx, a.Visibility, after, limit)
	if err != nil {
		return nil, err
	}
	if next != nil {
		if page.Paging.NextCursor, err = s.seal.sealCursor(bound, *next); err != nil {
			return nil, err
		}
	}
	page.Data = append(page.Data, found...)
	page.Paging.Returned = len(found)
	page.Paging.after = func(records int) (string, error) {
		return s.seal.sealCursor(bound, l.key(found[records-1]))
	}
	return page, nil
}

// unlessOne is the advice to lower a limit, for callers that can.
func unlessOne(limit int, advice string) string {
	if limit == 1 {
		return ""
	}
	return advice
}

// ahead turns a read that returns records after a key into a listing's read:
// one record more than the page has shows whether a next page exists.
func ahead[T, K any](key func(T) K, read func(ctx context.Context, v Visibility, after K, limit int) ([]T, error)) func(context.Context, Visibility, K, int) ([]T, *K, error) {
	return func(ctx context.Context, v Visibility, after K, limit int) ([]T, *K, error) {
		found, err := read(ctx, v, after, limit+1)
		if err != nil || len(found) <= limit {
			return found, nil, err
		}
		found = found[:limit]
		next := key(found[limit-1])
		return found, &next, nil
	}
}
