package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"preismon/contracts/openapi"
	"preismon/query"
)

// words tell agents what arguments mean, except those that
// query.ResultsParameters describes.
var words = map[string]string{
	"limit":                    "At most; omit to fit",
	"cursor":                   "nextCursor, all else unchanged",
	"alias":                    "Exact match",
	"category":                 "One of search.availableCategories",
	"discoverCategories":       "Add search.availableCategories",
	"includeMonitoring":        "Add sites and schedule",
	"reasonCode":               "Only this reason",
	"dateFrom":                 "Earliest archiving, UTC",
	"dateTo":                   "Latest archiving; a date is its whole day",
	"name":                     "Exact name of the file entry",
	"exportName":               "Exact name of the export",
	"latest":                   "Take the newest of several matches",
	"lines":                    "Like 11-200; line 1 is the header",
	"whole":                    "All of a large file",
	"since":                    "Compare with; date or RFC 3339",
	"until":                    "Compare this; a date is its whole day; default now",
	"kind":                     "Only this kind",
	"ownMerchant":              "This merchant wins and loses the buy box",
	"amount":                   "What is compared",
	"candidatePrice":           "Decimal like 12.99, in each market's own currency",
	"currencyCode":             "Only this currency, ISO 4217",
	"country":                  "Only this country, ISO 3166-1",
	"includeCustomerReference": "Compare with the customer's own reference price where exactly one applies",
}

// briefly tells agents what an argument means; empty: nothing is known of it.
func briefly(argument string) string {
	return cmp.Or(words[argument], query.ResultsParameter(argument).Brief)
}

// extra returns the schemas of arguments that no operation of the contract has.
func extra() map[string]schema {
	text := schema{"type": "string", "maxLength": 256}
	flag := schema{"type": "boolean"}
	return map[string]schema{
		"name": text, "category": text, "discoverCategories": flag,
		"since": text, "until": text, "ownMerchant": text, "ownSite": text,
		"kind":           {"type": "string", "enum": anyOf(query.MoverKinds())},
		"amount":         {"type": "string", "enum": []any{"price", "totalPrice"}, "default": "price"},
		"candidatePrice": {"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?$`},
		"currencyCode":   {"type": "string", "pattern": "^[A-Z]{3}$"}, "country": {"type": "string", "pattern": "^[A-Z]{2}$"},
		"includeCustomerReference": flag,
		"itemId":                   {"type": "string", "pattern": "^[1-9][0-9]{0,19}$"},
		"lines":                    {"type": "string"}, "whole": flag,
	}
}

// limitUpTo returns the limit of a list: a number, even where the contract has
// it as text in a query string.
func limitUpTo(most int) schema {
	return schema{"type": "integer", "minimum": 1, "maximum": most, "default": query.DefaultLimit}
}

// input returns the schema of the arguments, in the order in which the decoder
// reads them.
func (t *tool) input() (json.RawMessage, error) {
	parameters, err := openapi.Parameters(t.operation)
	if err != nil {
		return nil, err
	}
	known := extra()
	for _, p := range parameters {
		known[p.Name] = p.Schema
	}
	known["limit"] = limitUpTo(cmp.Or(t.maxLimit, query.MaxLimit))
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i, name := range t.arguments {
		argument, ok := known[name]
		said := cmp.Or(t.words[name], briefly(name))
		if !ok || said == "" {
			return nil, fmt.Errorf("mcp: %s: nothing is known of the argument %s", t.name, name)
		}
		argument["description"] = said
		if argument["default"] == false {
			delete(argument, "default")
		}
		member, err := json.Marshal(argument)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, member)
	}
	if t.records != nil {
		// The properties of list_results are exactly the parameters of REST
		// (TOOL-02).
		as := `,"fields":%s`
		if t.name == "list_results" {
			as = `},"patternProperties":{"^fields$":%s`
		}
		fmt.Fprintf(&b, as, marshal(fieldsSchema()))
	}
	b.WriteString(`}`)
	if len(t.required) > 0 {
		required, err := json.Marshal(t.required)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `,"required":%s`, required)
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.Bytes(), nil
}
