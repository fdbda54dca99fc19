package query

import (
	"context"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/search"
)

// ItemsRequest requests visible items. The identifiers and the category combine
// as an intersection.
type ItemsRequest struct {
	Limit      *int             `json:"-"`
	Cursor     string           `json:"-"`
	ItemID     contracts.ItemID `json:"itemId,omitempty"`
	EAN        string           `json:"ean,omitempty"`
	PZN        string           `json:"pzn,omitempty"`
	ASIN       string           `json:"asin,omitempty"`
	ASINLocale string           `json:"asinLocale,omitempty"`

	// Category is the mandate's own category of an item. DiscoverCategories
	// requests those that can be filtered by, in the page's Search.
	Category           string `json:"category,omitempty"`
	DiscoverCategories bool   `json:"discoverCategories,omitempty"`

	// Name holds words of the name, the brand or the manufacturer. It orders
	// the page by how well items match, and has them counted in its Search.
	Name string `json:"name,omitempty"`
}

// ItemsQuery is a query to the store: items after an id. Without identifiers
// and category, all.
type ItemsQuery struct {
	ItemID                     contracts.ItemID
	EAN, PZN, ASIN, ASINLocale string
	Category                   string
	After                      contracts.ItemID
	Limit                      int
}

// Limits of a search by identifiers or category (ITEM-01a, LIM-04): how many
// candidates it inspects for one page, and how many are authorized at once.
const (
	maxItemCandidates = 10_000
	itemBatch         = 2_000
)

// Items lists the items that the caller sees at one site or more, by id.
func (s *Service) Items(ctx context.Context, p Principal, r ItemsRequest) (*Page[contracts.Item], error) {
	wrong := r.wrong()
	q := ItemsQuery{ItemID: r.ItemID, EAN: r.EAN, PZN: r.PZN, ASIN: r.ASIN, ASINLocale: r.ASINLocale, Category: r.Category}
	if r.Name != "" {
		return s.itemsNamed(ctx, p, r, q, wrong)
	}
	var search *Search
	l := listing[contracts.Item, contracts.ItemID]{
		route: "items", area: contracts.ReadItems, limit: r.Limit, cursor: r.Cursor, query: r, wrong: wrong, key: itemKey,
		of: func(ctx context.Context, v Visibility) (err error) {
			search, err = s.categories(ctx, v, r)
			return err
		},
		read: s.itemsOf(q),
	}
	if q == (ItemsQuery{}) { // a search may meet too many candidates
		l.record = explainedItem
	}
	page, err := list(ctx, s, p, l)
	if err == nil {
		page.Search = search
	}
	return page, err
}

// wrong returns what is wrong with the request apart from its limit; nil:
// nothing.
func (r ItemsRequest) wrong() error {
	var wrong faults
	wrong.check(r.ASIN == "" || r.ASINLocale != "", "asin: needs asinLocale as well.")
	wrong.check(r.Name == "" || !search.New(r.Name).Empty(), "name: has no letter and no digit.")
	return wrong.err
}

func itemKey(i contracts.Item) contracts.ItemID { return i.ItemID }

// itemsOf returns the function that reads the items of a query, by id.
func (s *Service) itemsOf(q ItemsQuery) func(context.Context, Visibility, contracts.ItemID, int) ([]contracts.Item, *contracts.ItemID, error) {
	if q == (ItemsQuery{}) { // no search: every item that is read belongs to the page
		return ahead(itemKey,
			func(ctx context.Context, v Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
				return s.store.Items(ctx, v, after, limit)
			})
	}
	return func(ctx context.Context, v Visibility, after contracts.ItemID, limit int) ([]contracts.Item, *contracts.ItemID, error) {
		q.After = after
		return s.searchItems(ctx, v, q, limit)
	}
}

// searchItems inspects candidates, which are items of the mandate's scope that
// match, in batches, until it has found the page and one more item, and keeps
// no others. A page that is complete when its budget of candidates is used up
// continues after the last of them, with a new budget (ITEM-03); an incomplete
// one is refused (ITEM-02).
func (s *Service) searchItems(ctx context.Context, v Visibility, q ItemsQuery, limit int) ([]contracts.Item, *contracts.ItemID, error) {
	var found []contracts.Item
	q.Limit = itemBatch + 1 // one more shows whether any are left
	for inspected := 0; ; {
		batch, err := s.store.ItemCandidates(ctx, v, q)
		if err != nil || len(batch) == 0 {
			return found, nil, err
		}
		more := len(batch) > itemBatch
		batch = batch[:min(len(batch), itemBatch)]
		seen, err := s.store.VisibleItems(ctx, v, batch, limit+1-len(found))
		if err != nil {
			return nil, nil, err
		}
		found = append(found, seen...)
		inspected += len(batch)
		q.After = batch[len(batch)-1]
		switch {
		case len(found) > limit:
			found = found[:limit]
			return found, &found[limit-1].ItemID, nil
		case !more:
			return found, nil, nil
		case inspected < maxItemCandidates:
		case len(found) == limit:
			return found, &q.After, nil
		default:
			return nil, nil, fault.New(fault.Invalid, CodeItemTooBroad,
				"The search met %d candidates before its page was complete. Narrow the identifier%s, or go on from a later cursor.", maxItemCandidates, unlessOne(limit, ", lower limit"))
		}
	}
}

// maxASINLocales bounds the locale keys of an account (LIM-03).
const maxASINLocales = 256

// ASINLocales returns the marketplace locale keys of the visible items, in
// order and without duplicates: all of them, or a fault (LOC-01a to LOC-01c).
func (s *Service) ASINLocales(ctx context.Context, p Principal) (*Page[string], error) {
	all := maxASINLocales
	return list(ctx, s, p, listing[string, string]{
		route: "asin-locales", area: contracts.ReadItems, limit: &all, query: struct{}{},
		key: func(locale string) string { return locale },
		read: func(ctx context.Context, v Visibility, _ string, limit int) ([]string, *string, error) {
			found, err := s.store.ASINLocales(ctx, v, limit+1)
			if err == nil && len(found) > limit {
				err = fault.New(fault.Invalid, CodeItemTooBroad,
					"The visible items have more than %d ASIN locale keys. The list is never cut; ask for an account with a narrower scope.", maxASINLocales)
			}
			return found, nil, err
		},
	})
}
