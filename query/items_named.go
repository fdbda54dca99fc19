package query

import (
	"cmp"
	"context"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/search"
)

// Bounds of a search by name: how many visible items it examines, and how many
// are read at once.
const (
	maxNamedItems = 250_000
	namedBatch    = 2_000
)

// itemPosition is the position of an item in the order of a search by name: how far
// its name is from the requested one, then its id.
type itemPosition struct {
	Distance int              `json:"d"`
	Item     contracts.ItemID `json:"i"`
}

func (a itemPosition) compare(b itemPosition) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Item, b.Item))
}

// itemsNamed lists those items of a query whose name matches, the best matches
// first. Items with misspelled words are listed only if no item has the exact
// words. A wrong request is refused together with a wrong limit.
func (s *Service) itemsNamed(ctx context.Context, p Principal, r ItemsRequest, q ItemsQuery, wrong error) (*Page[contracts.Item], error) {
	words := search.New(r.Name)
	found, positions := &Search{}, map[contracts.ItemID]itemPosition{}
	page, err := list(ctx, s, p, listing[contracts.Item, itemPosition]{
		route: "items", area: contracts.ReadItems, limit: r.Limit, cursor: r.Cursor, query: r, wrong: wrong,
		key: func(i contracts.Item) itemPosition { return positions[i.ItemID] },
		of: func(ctx context.Context, v Visibility) error {
			categories, err := s.categories(ctx, v, r)
			if categories != nil {
				found = categories
			}
			found.Matches = new(int)
			return err
		},
		read: func(ctx context.Context, v Visibility, after itemPosition, limit int) ([]contracts.Item, *itemPosition, error) {
			exact, misspelled := &bestItems{after: after, room: limit + 1}, &bestItems{after: after, room: limit + 1}
			err := s.eachItem(ctx, v, q, func(i contracts.Item) {
				match, ok := words.In(i.Name + " " + i.Brand + " " + i.Manufacturer)
				switch position := (itemPosition{match.Distance, i.ItemID}); {
				case ok && match.Misspelled:
					misspelled.add(position, i)
				case ok:
					exact.add(position, i)
				}
			})
			best := exact
			if exact.all == 0 {
				best, found.Misspelled = misspelled, misspelled.all > 0
			}
			found.Matches = &best.all
			next := best.page(limit)
			var items []contracts.Item
			for _, k := range best.kept {
				items, positions[k.Item] = append(items, k.item), k.itemPosition
			}
			return items, next, err
		},
	})
	if err == nil {
		page.Search = found
	}
	return page, err
}

// eachItem iterates over the items of a query, by id.
func (s *Service) eachItem(ctx context.Context, v Visibility, q ItemsQuery, each func(contracts.Item)) error {
	read := s.itemsOf(q)
	var after contracts.ItemID
	for seen := 0; ; {
		items, next, err := read(ctx, v, after, namedBatch)
		if err != nil {
			return err
		}
		for _, i := range items {
			each(i)
		}
		if next == nil {
			return nil
		}
		if seen += len(items); seen >= maxNamedItems {
			return fault.New(fault.Invalid, CodeItemTooBroad,
				"More than %d items are visible, which are too many to search by name. Add an identifier or a category.", maxNamedItems)
		}
		after = *next
	}
}

// bestItems keeps the best of many items after a position, and counts all.
type bestItems struct {
	after itemPosition
	room  int
	all   int
	kept  []itemAt
}

type itemAt struct {
	itemPosition
	item contracts.Item
}

func (b *bestItems) add(at itemPosition, i contracts.Item) {
	b.all++
	if at.compare(b.after) <= 0 {
		return
	}
	b.kept = append(b.kept, itemAt{at, i})
	if len(b.kept) >= 2*b.room {
		b.cut()
	}
}

func (b *bestItems) cut() {
	slices.SortFunc(b.kept, func(x, y itemAt) int { return x.compare(y.itemPosition) })
	b.kept = b.kept[:min(len(b.kept), b.room)]
}

// page keeps at most limit items, and returns the position of the last if there
// are more.
func (b *bestItems) page(limit int) (next *itemPosition) {
	b.cut()
	if len(b.kept) > limit {
		b.kept = b.kept[:limit]
		next = &b.kept[limit-1].itemPosition
	}
	return next
}
