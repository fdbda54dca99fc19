package mcp

import (
	"preismon/query"
	"preismon/query/wire"
)

func listSites() tool {
	return tool{
		name: "list_sites", title: "Sites", operation: "listSites", arguments: wire.Operation(wire.Sites).Parameters(),
		about: "Lists the shops, marketplaces and platforms you can see. Start here: other tools take `site` keys from it. " +
			"`canonicalCountryMarket` marks the only sites with isPrime and isBuyBox.",
		answer: contractAnswer("listSites"),
		run:    pages(wire.Sites),
	}
}

func listASINLocales() tool {
	return tool{
		name: "list_asin_locales", title: "ASIN locales", operation: "listAsinLocales", arguments: wire.Operation(wire.ASINLocales).Parameters(),
		about:  "Lists the asinLocale keys of your products, all at once. Required with every asin.",
		answer: contractAnswer("listAsinLocales"),
		run:    pages(wire.ASINLocales),
	}
}

func listItems() tool {
	return tool{
		name: "list_items", title: "Products", operation: "listItems", records: shapeOf("listItems"), arguments: wire.Operation(wire.SearchItems).Parameters(),
		about: "Finds monitored products by name, identifier or category, to get their itemId. An empty page only means that you see no " +
			"such product, not that none exists.",
		words:  map[string]string{"name": "Words of name, brand or manufacturer; best match first, search.matches counts all"},
		answer: shapeWith("listItems", itemsAnswer),
		run:    pages(wire.SearchItems),
	}
}

// itemsAnswer returns the schema of the contract's page, with what only this
// tool has.
func itemsAnswer(body schema) schema {
	body["properties"].(schema)["search"] = described(object(schema{
		"availableCategories": described(listOf(kind("string")), "Of what you see"),
		"matches":             described(kind("integer"), "Products of all pages"),
		"misspelled":          described(kind("boolean"), "Only similar words were found"),
	}), "With name or discoverCategories")
	return answerOf(countedSchema(), brief(body))
}

func listOrders() tool {
	return tool{
		name: "list_orders", title: "Monitoring orders", operation: "listOrders", arguments: wire.Operation(wire.Orders).Parameters(),
		about: "Lists your monitoring orders: which products are watched at which sites. Use orderId with list_results, " +
			"get_order_detail and the file tools.",
		words:  map[string]string{"includeCoverage": "Add coverage and health"},
		answer: contractAnswer("listOrders"),
		run:    pages(wire.Orders),
	}
}

func getOrderDetail() tool {
	return tool{
		name: "get_order_detail", title: "Monitoring order", operation: "getOrder", arguments: wire.Operation(wire.Order).Parameters(), required: []string{"orderId"},
		about: "Reads one monitoring order with monitoring, coverage, health and the counts of its product-site pairs by reason. " +
			"Go on with list_order_observation_quality for the pairs.",
		answer: shapeWith("getOrder", orderAnswer),
		run:    record(wire.Order),
	}
}

// orderAnswer returns the schema of the order of the contract; list_orders
// shows what two of its members hold.
func orderAnswer(body schema) schema {
	properties := body["properties"].(schema)
	for _, name := range []string{"monitoring", "coverage"} {
		properties[name] = described(kind("object"), "Like that of list_orders")
	}
	return answerOf(countedSchema(), body)
}

// listOrderHistory lists the archived files of one direction.
func listOrderHistory(d query.Direction) tool {
	t := tool{
		name: "list_order_" + string(d) + "_history", title: "Archived " + string(d) + " files", operation: "listExportHistory", required: []string{"orderId"},
		arguments: wire.History(d).Parameters(), run: pages(wire.History(d)),
		about: "Lists the archived " + string(d) + " files of an order, newest first. Continue with download_order_" + string(d) + "_file.",
	}
	if d == query.Imports {
		t.operation = "listImportHistory"
	}
	t.answer = contractAnswer(t.operation)
	return t
}
