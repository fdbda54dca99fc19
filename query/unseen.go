package query

import (
	"context"
	"fmt"

	"preismon/contracts"
	"preismon/query/search"
)

// Unseen is a selector that matches nothing that the caller sees. It does not
// reveal whether others see it: nothing but what the caller sees is examined.
type Unseen struct {
	Selector string   // the parameter's name; empty: all together, while each alone matches something
	Given    string   // its value
	Nearest  []string // similar names that the caller sees, the most similar first
}

// maxNearestKeys bounds the sites, the orders and the items that are compared
// with a wrong one; any beyond it are ignored.
const maxNearestKeys = 10_000

// Unseen returns the selectors of a read that match nothing, and the alias of
// orders if one is given and matches none. Similar names are only those that
// the account may list.
func (s *Service) Unseen(ctx context.Context, p Principal, r ResultsRequest, alias string) (all []Unseen, err error) {
	sel := r.selectors()
	if sel.None() && alias == "" {
		return nil, nil
	}
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	giveBack, err := s.chargeList(ctx, MaxLimit)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	a, err := s.account(ctx, p)
	if err != nil {
		return nil, err
	}
	unseenAlias := func(ctx context.Context, a *Access, _ Selectors) (*Unseen, error) {
		return s.unseenAlias(ctx, a, alias)
	}
	for _, one := range []func(context.Context, *Access, Selectors) (*Unseen, error){s.unseenSite, s.unseenOrder, unseenAlias, s.unseenItem} {
		u, err := one(ctx, a, sel)
		if err != nil {
			return nil, err
		}
		if u != nil {
			all = append(all, *u)
		}
	}
	if len(all) > 0 || sel.None() || a.Visibility.Nothing() {
		return all, nil
	}
	pairs, err := s.store.PairsBySite(ctx, a.Visibility, sel)
	if err == nil && len(pairs) == 0 {
		all = append(all, Unseen{})
	}
	return all, err
}

func (s *Service) unseenSite(ctx context.Context, a *Access, sel Selectors) (*Unseen, error) {
	if sel.Site == "" {
		return nil, nil
	}
	v := a.Visibility
	if !v.Nothing() {
		found, err := s.store.Sites(ctx, v, SitesQuery{Site: sel.Site, Limit: 1})
		if err != nil || len(found) > 0 {
			return nil, err
		}
	}
	near := search.NearestTo(string(sel.Site))
	if a.may(contracts.ReadSites) && !v.Nothing() {
		sites, err := s.store.Sites(ctx, v, SitesQuery{Limit: maxNearestKeys})
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			near.Add(fmt.Sprintf("%s (%s)", site.Site, site.Name), string(site.Site), site.Name)
		}
	}
	return &Unseen{"site", string(sel.Site), near.Found()}, nil
}

func (s *Service) unseenOrder(ctx context.Context, a *Access, sel Selectors) (*Unseen, error) {
	return s.unseenOf(ctx, a, "orderId", idText(sel.Order), OrdersQuery{OrderID: sel.Order, Limit: 1}, func(near *search.Nearest, o contracts.Order) {
		near.Add(fmt.Sprintf("%d (%s)", o.OrderID, o.Name), idText(o.OrderID))
	})
}

func (s *Service) unseenAlias(ctx context.Context, a *Access, alias string) (*Unseen, error) {
	return s.unseenOf(ctx, a, "alias", alias, OrdersQuery{Alias: alias, Limit: 1}, func(near *search.Nearest, o contracts.Order) {
		if o.Alias != "" {
			near.Add(fmt.Sprintf("%s (%s)", o.Alias, o.Name), o.Alias, o.Name)
		}
	})
}

// unseenOf returns a selector of orders if none is found by it; add compares it with
// those that the account may list.
func (s *Service) unseenOf(ctx context.Context, a *Access, selector, given string, q OrdersQuery, add func(*search.Nearest, contracts.Order)) (*Unseen, error) {
	v, near := a.Visibility, search.NearestTo(given)
	if given == "" {
		return nil, nil
	}
	if !v.Empty() {
		found, err := s.store.Orders(ctx, v, q)
		if err != nil || len(found) > 0 {
			return nil, err
		}
	}
	if a.may(contracts.ReadOrders) && !v.Empty() {
		orders, err := s.store.Orders(ctx, v, OrdersQuery{Limit: maxNearestKeys})
		if err != nil {
			return nil, err
		}
		for _, o := range orders {
			add(near, o)
		}
	}
	return &Unseen{selector, given, near.Found()}, nil
}

func (s *Service) unseenItem(ctx context.Context, a *Access, sel Selectors) (*Unseen, error) {
	if !sel.Product() {
		return nil, nil
	}
	v := a.Visibility
	if !v.Nothing() {
		found, _, err := s.searchItems(ctx, v, ItemsQuery{ItemID: sel.Item, EAN: sel.EAN, PZN: sel.PZN, ASIN: sel.ASIN, ASINLocale: sel.ASINLocale}, 1)
		if err != nil || len(found) > 0 {
			return nil, err
		}
	}
	given := identifiersOf(sel)
	if len(given) > 1 { // each alone may match an item
		u := &Unseen{Selector: given[0].name, Given: given[0].value}
		for _, other := range given[1:] {
			u.Given += " with " + other.name + " " + other.value
		}
		return u, nil
	}
	one := given[0]
	near := search.NearestTo(one.value)
	if a.may(contracts.ReadItems) && !v.Nothing() {
		items, err := s.store.Items(ctx, v, 0, maxNearestKeys+1)
		if err != nil {
			return nil, err
		}
		for _, i := range items[:min(len(items), maxNearestKeys)] {
			if key := one.of(i); key != "" {
				near.Add(fmt.Sprintf("%s (%s)", key, one.called(i)), key)
			}
		}
	}
	return &Unseen{one.name, one.value, near.Found()}, nil
}

// called describes an item, with the locale that its ASIN needs.
func (one identifier) called(i contracts.Item) string {
	if one.name == "asin" {
		return i.ASINLocale + ", " + i.Name
	}
	return i.Name
}

// identifier is a selector of products.
type identifier struct {
	name, value string
	of          func(contracts.Item) string
}

func identifiersOf(sel Selectors) (all []identifier) {
	for _, one := range []identifier{
		{"itemId", idText(sel.Item), func(i contracts.Item) string { return idText(i.ItemID) }},
		{"ean", sel.EAN, func(i contracts.Item) string { return i.EAN }},
		{"pzn", sel.PZN, func(i contracts.Item) string { return i.PZN }},
		{"asin", sel.ASIN, func(i contracts.Item) string { return i.ASIN }},
	} {
		if one.value != "" {
			all = append(all, one)
		}
	}
	return all
}
