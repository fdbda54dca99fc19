package mcp

import "preismon/query/wire"

func listOrderObservationQuality() tool {
	return tool{
		name: "list_order_observation_quality", title: "How observations went", operation: "listObservationQuality",
		arguments: wire.Operation(wire.ObservationQuality).Parameters(), required: []string{"orderId"},
		about: "Tells for each product-site pair of an order how its newest observation went. PRODUCT_NOT_FOUND is an ordinary " +
			"finding; PENDING and OVERDUE mean no current result: none was due yet, or one was.",
		answer: contractAnswer("listObservationQuality"),
		run:    pages(wire.ObservationQuality),
	}
}
