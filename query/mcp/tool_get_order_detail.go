package mcp

import "preismon/query/wire"

func getOrderDetail() tool {
	return tool{
		name: "get_order_detail", operation: "getOrder", arguments: wire.Operation(wire.Order).Parameters(), required: []string{"orderId"},
		about: "Reads one monitoring order with monitoring, coverage, health and the counts of its product-site pairs by reason. " +
			"Go on with list_order_observation_quality for the pairs.",
		answer: contractAnswer("getOrder"),
		run:    record(wire.Order),
	}
}
