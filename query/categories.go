package query

import (
	"context"

	"preismon/contracts/fault"
)

// Search tells of a search for items.
type Search struct {
	// AvailableCategories are what it can be narrowed by: those of all visible
	// items, in order of their bytes, whatever the page is filtered by. Empty,
	// not null, when no visible item has one (TOOL-03b); nil: not asked for.
	AvailableCategories []string `json:"availableCategories,omitzero"`
	// Matches are how many items, of all pages, have the name; nil: none was
	// asked for.
	Matches *int `json:"matches,omitempty"`
	// Misspelled tells that no item has the words of the name as they are: these
	// have similar ones.
	Misspelled bool `json:"misspelled,omitempty"`
}

// CategoriesQuery is what the store is asked: all categories, or whether one
// of them is there.
type CategoriesQuery struct {
	Category string // empty: all
	Limit    int
}

// maxCategories bounds the categories that a page lists.
const maxCategories = 1_000

// categories resolves what an items request says about categories. It reads
// the customer data of visible items only (TOOL-03d): a category
// of other items alone does not exist for the caller, as a filter (TOOL-03c)
// and in the list alike. Without a request for the list it is nil.
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
