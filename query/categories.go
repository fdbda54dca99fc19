package query

import (
	"context"

	"preismon/contracts/fault"
)

// Search describes a search for items.
type Search struct {
	// AvailableCategories are the categories that the search can be narrowed
	// by: those of all visible items, in byte order, regardless of the page's
	// filters. Empty, not null, when no visible item has one (TOOL-03b); nil:
	// not requested.
	AvailableCategories []string `json:"availableCategories,omitzero"`
	// Matches is the number of items, over all pages, that have the name; nil:
	// no name was requested.
	Matches *int `json:"matches,omitempty"`
	// Misspelled: no item has the exact words of the name; the items returned
	// have similar ones.
	Misspelled bool `json:"misspelled,omitempty"`
}

// CategoriesQuery is a query to the store: all categories, or whether one
// exists.
type CategoriesQuery struct {
	Category string // empty: all
	Limit    int
}

// maxCategories bounds the categories that a page lists.
const maxCategories = 1_000

// categories resolves the categories of an items request. It reads the customer
// data of visible items only (TOOL-03d): a category of other items alone does
// not exist for the caller, neither as a filter (TOOL-03c) nor in the list. The
// result is nil unless the list was requested.
func (s *Service) categories(ctx context.Context, v Visibility, r ItemsRequest) (*Search, error) {
	find := func(q CategoriesQuery) ([]string, error) {
		if v.Empty() {
			return nil, nil
		}
		return s.store.Categories(ctx, v, q)
	}
	if r.Category != "" {
		found, err := find(CategoriesQuery{Category: r.Category, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.New(fault.Invalid, CodeCategoryNotAvailable,
				"category: no item that you may see has this category. discoverCategories=true lists those that can be filtered by.")
		}
	}
	if !r.DiscoverCategories {
		return nil, nil
	}
	found, err := find(CategoriesQuery{Limit: maxCategories + 1})
	if err != nil {
		return nil, err
	}
	if len(found) > maxCategories {
		return nil, fault.New(fault.Invalid, CodeItemTooBroad,
			"The visible items have more than %d categories. The list is never cut; send the request without discoverCategories.", maxCategories)
	}
	return &Search{AvailableCategories: append([]string{}, found...)}, nil
}
