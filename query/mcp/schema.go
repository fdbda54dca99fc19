package mcp

import (
	"maps"

	"preismon/contracts/openapi"
	"preismon/query"
)

// schema is a JSON Schema (2020-12).
type schema = openapi.Schema

func object(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func listOf(items schema) schema { return schema{"type": "array", "items": items} }

func kind(types ...string) schema {
	if len(types) == 1 {
		return schema{"type": types[0]}
	}
	return schema{"type": types}
}

// answerOf returns the schema of an answer: head and body, both always present,
// with a description for every member.
func answerOf(summary, body schema) schema {
	properties := schema{
		"summary": summary,
		"completeness": object(schema{
			"complete": kind("boolean"), "reason": kind("string", "null"), cursorMember: kind("string", "null"),
		}),
	}
	if data, ok := body["properties"].(schema)["data"].(schema); ok && data["items"] != nil { // and so may have no records
		properties["note"] = kind("string")
	}
	maps.Copy(properties, body["properties"].(schema))
	required := []any{"summary", "completeness"}
	switch more := body["required"].(type) {
	case []any:
		required = append(required, more...)
	case []string:
		required = append(required, anyOf(more)...)
	}
	answer := schema{"type": "object", "properties": properties, "required": required}
	explain(answer)
	return answer
}

// explain describes the members that have no description.
func explain(s schema) {
	properties, _ := s["properties"].(schema)
	for name, property := range properties {
		member := property.(schema)
		if word := memberWords[name]; member["description"] == nil && word != "" {
			member["description"] = word
		}
		explain(member)
	}
	if items, ok := s["items"].(schema); ok {
		explain(items)
	}
}

func anyOf[T any](all []T) (out []any) {
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

// described adds a description to a schema.
func described(s schema, about string) schema {
	s["description"] = about
	return s
}

// summarySchema returns the schema of a summary, with its own members.
func summarySchema(about string, own schema) schema {
	properties := schema{"page": kind("string"), "pageOmits": kind("array"), "returned": kind("integer")}
	maps.Copy(properties, own)
	return described(object(properties), about)
}

// countedSchema returns the schema of counted.
func countedSchema() schema { return summarySchema("Of this answer", nil) }

// shapeOf returns the body that an operation of the contract answers with.
func shapeOf(operation string) func() (schema, error) {
	return func() (schema, error) { return openapi.AnswerShape(operation) }
}

// shapeWith is shapeOf with a change to each body.
func shapeWith(operation string, change func(body schema) schema) func() (schema, error) {
	return func() (schema, error) {
		body, err := openapi.AnswerShape(operation)
		if err != nil {
			return nil, err
		}
		return change(body), nil
	}
}

// contractAnswer returns the answer of an operation of the contract, after a
// head that counts.
func contractAnswer(operation string) func() (schema, error) {
	return shapeWith(operation, func(body schema) schema { return answerOf(countedSchema(), brief(body)) })
}

// brief omits what is described elsewhere: the echoed arguments, the paging,
// which the head shows, and media types.
func brief(body schema) schema {
	properties := body["properties"].(schema)
	for name, as := range map[string]string{"query": "object", "paging": "object", "contentType": "string"} {
		if properties[name] != nil {
			properties[name] = bare(properties[name], as)
		}
	}
	if data, ok := properties["data"].(schema); ok && data["items"] != nil {
		brief(data["items"].(schema))
	}
	return body
}

// bare returns a member without its parts.
func bare(member any, types ...string) schema {
	s := kind(types...)
	if said := member.(schema)["description"]; said != nil {
		s["description"] = said
	}
	return s
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

// orderAnswer returns the schema of the order of the contract; list_orders
// shows what two of its members hold.
func orderAnswer(body schema) schema {
	properties := body["properties"].(schema)
	for _, name := range []string{"monitoring", "coverage"} {
		properties[name] = described(kind("object"), "Like that of list_orders")
	}
	return answerOf(countedSchema(), body)
}

// capabilitiesAnswer names the parts; each part describes itself.
func capabilitiesAnswer(body schema) schema {
	properties := body["properties"].(schema)
	for name, part := range properties {
		properties[name] = bare(part, part.(schema)["type"].(string))
	}
	return answerOf(countedSchema(), body)
}

// resultsAnswer returns the schema of a page of results, after a head that
// summarizes it.
func resultsAnswer(body schema) schema {
	// The member priceMoney describes money for all of them.
	row := body["properties"].(schema)["data"].(schema)["items"].(schema)["properties"].(schema)
	for _, name := range []string{"shippingCostMoney", "totalPriceMoney", "referencePriceMoney"} {
		row[name] = schema{"type": row[name].(schema)["type"], "description": "Like priceMoney"}
	}
	answer := answerOf(summarySchema("Counts of the rows", schema{
		"covers":          schema{"enum": []any{query.CoversQuery, query.CoversPage}, "description": "Of which rows the summary is: all of the query, or this page"},
		"rows":            described(kind("integer"), "Rows that the summary covers"),
		"firstCapturedAt": described(kind("string", "null"), "Oldest of these rows"),
		"lastCapturedAt":  described(kind("string", "null"), "Newest of these rows"),
		"sites": described(listOf(object(schema{
			"site":        described(kind("string"), "Site key; one without rows has noResult alone"),
			"priced":      described(kind("integer"), "Rows with a price"),
			"unavailable": described(kind("integer"), "Rows of what is not sold there now, or not found"),
			"unknown":     described(kind("integer"), "Rows that do not tell"),
			"noResult":    described(kind("integer", "null"), "Monitored products without a row, whatever the filters; null: not known of a page"),
			"prices": described(listOf(object(schema{
				"currencyCode": described(kind("string"), "ISO 4217"), "count": described(kind("integer"), "Rows with a price in it"),
				"min": described(kind("number"), "Lowest price"), "median": described(kind("number"), "The lower one in the middle"),
				"max": described(kind("number"), "Highest price"),
			})), "By currency"),
			"buyBox": described(listOf(object(schema{
				"merchant": described(kind("string", "null"), "Null: without a name"), "wins": described(kind("integer"), "Rows with its buy box"),
				"share": described(kind("number"), "Percent of the rows with a buy box"),
			})), "The merchants that hold it most often: ten of one site, three of each of several"),
		})), "By key"),
		"otherSites": schema{
			"type": []any{"object", "null"}, "description": "Sites not listed: those with fewest rows",
			"properties": schema{"count": described(kind("integer"), "How many"), "rows": described(kind("integer"), "Their rows"), "noResult": described(kind("integer", "null"), "Their products without a row")},
		},
	}), brief(body))
	answer["properties"].(schema)["completeness"].(schema)["properties"].(schema)["reason"].(schema)["enum"] = append(anyOf(reasons()), nil)
	return answer
}
