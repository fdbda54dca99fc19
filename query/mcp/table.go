package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"preismon/contracts/strictjson"
	"preismon/query/wire"
)

// fieldsArgument names the fields of the records that an agent wants, as a
// table. It belongs to the form of the answer, not to the read: it is removed
// from the arguments before they are decoded.
const fieldsArgument = "fields"

// mostFields is how many columns a table has at most.
const mostFields = 40

// fieldsSchema returns the schema of the argument.
func fieldsSchema() schema {
	return schema{"type": "array", "items": schema{"type": "string"}, "description": "Only these, as a table"}
}

// params returns the arguments of a call, to be decoded.
func (c Call) params() *wire.Params { return wire.FromArguments(c.Arguments).AddFault(c.wrongFields) }

// withFields removes the fields from the arguments of a call, and adds the
// arguments that fields need if records have them only on request. Faults of
// the fields are reported together with all others.
func (t tool) withFields(c Call) (Call, error) {
	var all map[string]json.RawMessage
	if t.records == nil || json.Unmarshal(c.Arguments, &all) != nil || all[fieldsArgument] == nil {
		return c, nil
	}
	var fields []string
	if json.Unmarshal(all[fieldsArgument], &fields) != nil {
		c.wrongFields = `fields: not a list of names like ["itemId","site"].`
	} else if fields != nil { // null is the same as not given
		var err error
		if c.wrongFields, err = t.unknown(fields); err != nil {
			return c, err
		}
	}
	t.addFields(all, fields)
	delete(all, fieldsArgument)
	rest, err := wire.Marshal(all)
	c.Arguments, c.Fields = rest, fields
	return c, err
}

// addFields adds to the arguments those that add the fields, unless they are
// given, or an argument that is given decides on the same field.
func (t tool) addFields(all map[string]json.RawMessage, fields []string) {
	var missing []string
	for _, field := range fields {
		missing = append(missing, memberOf(field))
	}
	var open []addition
	for _, a := range t.adds {
		if given := all[a.argument]; given == nil || string(given) == "null" {
			open = append(open, a)
			continue
		}
		missing = slices.DeleteFunc(missing, a.has)
	}
	for _, a := range open {
		if slices.ContainsFunc(missing, a.has) {
			all[a.argument] = json.RawMessage("true")
			missing = slices.DeleteFunc(missing, a.has)
		}
	}
}

func (a addition) has(field string) bool { return slices.Contains(a.fields, field) }

// memberOf returns the member of a record that a field is or belongs to.
func memberOf(field string) string {
	member, _, _ := strings.Cut(field, ".")
	return member
}

// unknown returns what is wrong with fields, above all that records of the tool
// never have them.
func (t tool) unknown(fields []string) (string, error) {
	body, err := t.records()
	if err != nil {
		return "", err
	}
	names := map[string]bool{}
	columns(body["properties"].(schema)["data"].(schema)["items"].(schema), "", names)
	var faults []string
	seen := map[string]bool{}
	for _, field := range fields {
		switch {
		case !names[field] && len(faults) == 0:
			faults = append(faults, fmt.Sprintf("fields: %s is none of %s.", wire.Quote(field), strings.Join(slices.Sorted(maps.Keys(names)), ", ")))
		case !names[field]:
			faults = append(faults, fmt.Sprintf("Nor is %s.", wire.Quote(field)))
		case seen[field]:
			faults = append(faults, fmt.Sprintf("fields: %s is given twice.", field))
		}
		seen[field] = true
	}
	if len(fields) == 0 || len(fields) > mostFields {
		faults = append(faults, fmt.Sprintf("fields: 1 to %d of them.", mostFields))
	}
	return strings.Join(faults[:min(len(faults), 5)], " "), nil
}

// columns collects the members of a record, and those of its objects after a
// dot.
func columns(record schema, of string, names map[string]bool) {
	members, _ := record["properties"].(schema)
	for name, member := range members {
		names[of+name] = true
		if of == "" {
			columns(member.(schema), name+".", names)
		}
	}
}

// record is a record of a page, by its members.
type record map[string]json.RawMessage

// tableOf returns the body of a page with the fields of its records as columns
// and rows, in place of data, and without paging, which the head covers. It
// also returns the rows separately, as they are in the table. named adds the
// names of products to records.
func tableOf(body []byte, fields []string, named func([]record) error) (table, rows []byte, err error) {
	out := bytes.NewBufferString("{")
	err = strictjson.Members(body, func(name string, value json.RawMessage) (err error) {
		switch name {
		case "data":
			rows, err = tableRows(value, fields, named)
			fmt.Fprintf(out, `"columns":%s,"rows":%s,`, marshal(fields), rows)
		case "paging":
		default:
			fmt.Fprintf(out, "%q:%s,", name, value)
		}
		return err
	})
	table = out.Bytes()
	table[len(table)-1] = '}'
	return table, rows, err
}

// tableRows returns records as rows of the table. Results are made as such by
// query.
func tableRows(data []byte, fields []string, named func([]record) error) ([]byte, error) {
	var records []record
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, err
	}
	if slices.Contains(fields, productName) {
		if err := named(records); err != nil {
			return nil, err
		}
	}
	rows := make([][]json.RawMessage, len(records))
	for i, r := range records {
		for _, field := range fields {
			value, err := r.value(field)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], value)
		}
	}
	return marshal(rows), nil
}

// value returns the value of a field; nil, which is null, if the record has none.
func (r record) value(field string) (json.RawMessage, error) {
	member, part, nested := strings.Cut(field, ".")
	if !nested || r[member] == nil {
		return r[member], nil
	}
	var parts record
	err := json.Unmarshal(r[member], &parts)
	return parts[part], err
}

// orTable extends the schema of a page to one with a table, too.
func orTable(answer schema) {
	properties := answer["properties"].(schema)
	properties["columns"] = described(listOf(kind("string")), "With fields")
	properties["rows"] = described(listOf(kind("array")), "In place of data")
	page := []any{"data", "paging"}
	var always, only []any
	for _, name := range answer["required"].([]any) {
		if slices.Contains(page, name) {
			only = append(only, name)
		} else {
			always = append(always, name)
		}
	}
	answer["required"] = always
	if len(only) > 0 {
		answer["anyOf"] = []any{schema{"required": only}, schema{"required": []any{"columns", "rows"}}}
	}
}
