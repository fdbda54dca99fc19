package mcp

import (
	"preismon/contracts/openapi"
	"preismon/query/wire"
)

func getOrderDetail() tool {
	return tool{
		name: "get_order_detail", title: "Monitoring order", operation: "getOrder", arguments: wire.Operation(wire.Order).Parameters(), required: []string{"orderId"},
		about: "Reads one monitoring order with monitoring, coverage, health and the counts of its product-site pairs by reason. " +
			"Go on with list_order_observation_quality for the pairs.",
		answer: orderAnswer,
		run:    record(wire.Order),
	}
}

// orderAnswer returns the schema of the order of the contract; list_orders
// shows what two of its members hold.
func orderAnswer() (schema, error) {
	body, err := openapi.AnswerShape("getOrder")
	if err != nil {
		return nil, err
	}
	properties := body["properties"].(schema)
	for _, name := range []string{"monitoring", "coverage"} {
		properties[name] = described(kind("object"), "Like that of list_orders")
	}
	return answerOf(countedSchema(), body), nil
}
