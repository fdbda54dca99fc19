package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Schema is a JSON Schema as a tree of JSON values.
type Schema = map[string]any

// Parameter is a parameter of an operation.
type Parameter struct {
	Name     string
	Required bool
	About    string // its description, in Markdown
	Schema   Schema // references resolved, without descriptions
}

// Parameters returns the parameters of an operation in the order of the
// document.
func Parameters(operationID string) ([]Parameter, error) {
	c, op, err := find(operationID)
	if err != nil {
		return nil, err
	}
	var all []Parameter
	for _, p := range c.parameters(op) {
		required, _ := p.get("required").value.(bool)
		all = append(all, Parameter{p.get("name").text(), required, p.get("description").text(), c.resolved(p.get("schema"), asWritten)})
	}
	return all, nil
}

// AnswerShape returns the schema of the JSON that an operation answers with on
// success, with references resolved. It is reduced to the members, their types,
// their meaning in a few words, and their values where they are few. Only the
// top level lists which members are always present.
func AnswerShape(operationID string) (Schema, error) {
	c, op, err := find(operationID)
	if err != nil {
		return nil, err
	}
	schema := op.get("responses", "200", "content", "application/json", "schema")
	if !schema.exists() {
		return nil, fmt.Errorf("openapi: %s does not answer with JSON", operationID)
	}
	shape := c.resolved(schema, outline)
	target, _ := c.deref(schema)
	shape["required"] = target.get("required").value
	return shape, nil
}

// extent is how much of a schema is copied.
type extent struct {
	without []string // keywords
	values  bool     // the values of an enum are given without their type
	words   bool     // descriptions are kept, each cut to a few words
}

var (
	asWritten = extent{without: []string{"description", "example", "examples"}}
	outline   = extent{ // descriptions are copied by their own rule
		without: append([]string{
			"pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
			"default", "additionalProperties", "required",
		}, asWritten.without...),
		values: true,
		words:  true,
	}
)

// find searches the contract of /v1, then that of /ext/v1.
func find(operationID string) (*contract, operation, error) {
	for _, document := range []func() (*contract, error){parsed, extended} {
		c, err := document()
		if err != nil {
			return nil, operation{}, err
		}
		for op := range c.operations() {
			if op.get("operationId").text() == operationID {
				return c, op, nil
			}
		}
	}
	return nil, operation{}, fmt.Errorf("openapi: no operation %s", operationID)
}

// resolved copies a schema with its references followed. An additionalProperties
// that is itself a schema is kept: it describes the members.
func (c *contract) resolved(schema node, e extent) Schema {
	said := briefly(schema.get("description").text()) // of this place: a reference leads to a type
	schema, _ = c.deref(schema)
	out := Schema{}
	if e.words && said != "" {
		out["description"] = said
	}
	for keyword, value := range schema.members() {
		_, mapping := value.value.(yaml.MapSlice)
		switch {
		case keyword == "properties":
			properties := Schema{}
			for name, property := range value.members() {
				properties[name] = c.resolved(property, e)
			}
			out[keyword] = properties
		case keyword == "anyOf":
			var all []any
			for _, part := range value.list() {
				all = append(all, c.resolved(part, e))
			}
			out[keyword] = all
			if nullable := orNull(all); nullable != nil {
				if own := out["description"]; own != nil {
					nullable["description"] = own
				}
				return nullable
			}
		case keyword == "items", keyword == "additionalProperties" && mapping:
			out[keyword] = c.resolved(value, e)
		case !slices.Contains(e.without, keyword):
			out[keyword] = value.value
		}
	}
	if e.values && out["enum"] != nil {
		delete(out, "type")
	}
	return out
}

// orNull writes "either this or null" as one schema with two types; it returns
// nil for any other choice.
func orNull(all []any) Schema {
	if len(all) != 2 {
		return nil
	}
	one, null := all[0].(Schema), all[1].(Schema)
	if _, single := one["type"].(string); !single || null["type"] != "null" {
		return nil
	}
	one["type"] = []any{one["type"], "null"}
	return one
}

// briefly returns the first clause of a description; empty if it begins with a
// list, because the enum already has its values.
func briefly(description string) string {
	if strings.HasPrefix(description, "- ") {
		return ""
	}
	if end := strings.IndexAny(description, ".;:\n"); end >= 0 {
		return description[:end]
	}
	return description
}
