package mcp

import "preismon/query/wire"

func listItems() tool {
	return tool{
		name: "list_items", operation: "listItems", arguments: wire.Operation(wire.ItemsByCategory).Parameters(),
		about: "Finds monitored products by identifier or category, to get their itemId. An empty page only means that you see no " +
			"such product, not that none exists.",
		answer: itemsAnswer,
		run:    pages(wire.ItemsByCategory),
	}
}

// itemsAnswer is the page of the contract with what only this tool has.
func itemsAnswer() (schema, error) {
	s, err := contractAnswer("listItems")()
	if err != nil {
		return nil, err
	}
	s["properties"].(schema)["search"] = object(schema{"availableCategories": listOf(kind("string"))})
	return s, nil
}
