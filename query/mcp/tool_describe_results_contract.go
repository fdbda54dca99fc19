package mcp

import "preismon/query/wire"

func describeResultsContract() tool {
	return tool{
		name: "describe_results_contract", title: "How to ask for results", operation: "getResultsCapabilities", arguments: wire.Operation(wire.Capabilities).Parameters(),
		about:  "Describes list_results: fields, filters, windows, limits, and what to do when a read is refused as too broad.",
		answer: shapeWith("getResultsCapabilities", capabilitiesAnswer),
		run:    record(wire.Capabilities),
	}
}

// capabilitiesAnswer names the parts; each part describes itself.
func capabilitiesAnswer(body schema) schema {
	properties := body["properties"].(schema)
	for name, part := range properties {
		properties[name] = bare(part, part.(schema)["type"].(string))
	}
	return answerOf(countedSchema(), body)
}
