package mcp

import (
	"preismon/contracts/openapi"
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

// answerOf is the schema of an answer: head and body, both always there.
func answerOf(summary, body schema) schema {
	properties := schema{
		"summary": summary,
		"completeness": object(schema{
			"complete": kind("boolean"), "reason": kind("string", "null"), "nextCursor": kind("string", "null"),
		}),
	}
	if data, ok := body["properties"].(schema)["data"].(schema); ok && data["items"] != nil { // and so maybe none
		properties["note"] = kind("string")
	}
	for name, property := range body["properties"].(schema) {
		properties[name] = property
	}
	required := []any{"summary", "completeness"}
	switch more := body["required"].(type) {
	case []any:
		required = append(required, more...)
	case []string:
		required = append(required, anyOf(more)...)
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

func anyOf[T any](all []T) (out []any) {
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

func countedSchema() schema { return kind("object") }

// contractAnswer is the answer of an operation of the contract behind a head
// that counts.
func contractAnswer(operation string) func() (schema, error) {
	return func() (schema, error) {
		body, err := openapi.AnswerShape(operation)
		if err != nil {
			return nil, err
		}
		return answerOf(countedSchema(), brief(body)), nil
	}
}

// brief leaves out what is said elsewhere: the arguments again, where the page
// stands, which the head tells, and media types.
func brief(body schema) schema {
	properties := body["properties"].(schema)
	for _, name := range []string{"query", "paging"} {
		if properties[name] != nil {
			properties[name] = kind("object")
		}
	}
	if properties["contentType"] != nil {
		properties["contentType"] = kind("string")
	}
	if data, ok := properties["data"].(schema); ok && data["items"] != nil {
		brief(data["items"].(schema))
	}
	return body
}

// resultsAnswer is a page of results behind a head that sums it up.
func resultsAnswer() (schema, error) {
	body, err := openapi.AnswerShape("listResults")
	if err != nil {
		return nil, err
	}
	// One of them shows what money is.
	row := body["properties"].(schema)["data"].(schema)["items"].(schema)["properties"].(schema)
	for _, name := range []string{"shippingCostMoney", "totalPriceMoney", "referencePriceMoney"} {
		row[name] = schema{"type": row[name].(schema)["type"]}
	}
	count, number := kind("integer"), kind("number")
	answer := answerOf(object(schema{
		"returned": count,
		"sites": listOf(object(schema{
			"site": kind("string"), "priced": count, "unavailable": count, "unknown": count, "noResult": kind("integer", "null"),
			"prices": listOf(object(schema{
				"currencyCode": kind("string"), "count": count, "min": number, "median": number, "max": number,
			})),
		})),
		"otherSites": schema{"type": []any{"object", "null"}, "properties": schema{"count": count, "noResult": kind("integer", "null")}},
	}), body)
	answer["properties"].(schema)["completeness"].(schema)["properties"].(schema)["reason"] = schema{"enum": append(anyOf(reasons()), nil)}
	return answer, nil
}
