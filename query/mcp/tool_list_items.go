package mcp

import (
	"preismon/contracts/openapi"
	"preismon/query/wire"
)

func listItems() tool {
	return tool{
		name: "list_items", title: "Products", operation: "listItems", records: shapeOf("listItems"), arguments: wire.Operation(wire.SearchItems).Parameters(),
		about: "Finds monitored products by name, identifier or category, to get their itemId. An empty page only means that you see no " +
			"such product, not that none exists.",
		words:  map[string]string{"name": "Words of name, brand or manufacturer; best match first, search.matches counts all"},
		answer: itemsAnswer,
		run:    pages(wire.SearchItems),
	}
}

// itemsAnswer returns the schema of the contract's page, with what only this
// tool has.
func itemsAnswer() (schema, error) {
	body, err := openapi.AnswerShape("listItems")
	if err != nil {
		return nil, err
	}
	body["properties"].(schema)["search"] = described(object(schema{
		"availableCategories": described(listOf(kind("string")), "Of what you see"),
		"matches":             described(kind("integer"), "Products of all pages"),
		"misspelled":          described(kind("boolean"), "Only similar words were found"),
	}), "With name or discoverCategories")
	return answerOf(countedSchema(), brief(body)), nil
}
