package mcp

import "preismon/query/wire"

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
