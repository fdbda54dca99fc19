package mcp

import (
	"preismon/query"
	"preismon/query/wire"
)

// listOrderHistory lists the archived files of one direction.
func listOrderHistory(d query.Direction) tool {
	t := tool{
		name: "list_order_" + string(d) + "_history", title: "Archived " + string(d) + " files", operation: "listExportHistory", required: []string{"orderId"},
		arguments: wire.History(d).Parameters(), run: pages(wire.History(d)),
		about: "Lists the archived " + string(d) + " files of an order, newest first. Go on with download_order_" + string(d) + "_file.",
	}
	if d == query.Imports {
		t.operation = "listImportHistory"
	}
	t.answer = contractAnswer(t.operation)
	return t
}
