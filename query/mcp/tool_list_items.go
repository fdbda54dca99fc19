package mcp

import "preismon/query/wire"

func listItems() tool {
	return tool{
		name: "list_items", operation: "listItems", arguments: wire.Operation(wire.SearchItems).Parameters(),
		about: "Finds monitored products by name, identifier or category, to get their itemId. An empty page only means that you see no " +
			"such product, not that none exists.",
		words:  map[string]string{"name": "Words of name, brand or manufacturer; best match first, search.matches counts all"},
		answer: itemsAnswer,
		run:    pages(wire.SearchItems),
	}
}

// itemsAnswer is the page of the contract with what only this tool has.
func itemsAnswer() (schema, error) {
	s, err := contractAnswer("listItems")()
	if err != nil {
		return nil, err
	}
	s["properties"].(schema)["search"] = object(schema{
		"availableCategories": listOf(kind("string")), "matches": kind("integer"), "misspelled": kind("boolean"),
	})
	return s, nil
}
