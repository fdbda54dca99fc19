package openapi

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// reference fills the hand-written text of llms-full.txt with what the
// document says about operations, records and codes.
func (c *contract) reference(ext *contract, text string) (string, error) {
	t, err := template.New("llms-full").Funcs(template.FuncMap{
		"about":         func() string { return c.root.get("info", "description").text() },
		"version":       c.version,
		"operations":    c.describeOperations,
		"schemas":       func() string { return c.describeSchemas(&contract{}) },
		"extVersion":    ext.version,
		"extOperations": ext.describeOperations,
		"extSchemas":    func() string { return ext.describeSchemas(c) },
		"codes":         func() string { return c.root.get("components", "schemas", "ErrorCode", "description").text() },
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}

// describeOperations writes a section for each operation.
func (c *contract) describeOperations() (string, error) {
	var b strings.Builder
	for op := range c.operations() {
		o, err := c.outline(op)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "#### %s %s\n\n%s.", o.Method, o.Path, o.Summary)
		if op.public() {
			b.WriteString(" No token.")
		}
		b.WriteString("\n\n")
		if o.About != "" {
			b.WriteString(o.About + "\n\n")
		}
		if o.Parameters != nil {
			b.WriteString("| Parameter | In | Type | Meaning |\n| --- | --- | --- | --- |\n")
			for _, p := range o.Parameters {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, cell(p.Type), cell(p.About))
			}
			b.WriteString("\n")
		}
		if o.Body != nil {
			fmt.Fprintf(&b, "Request body: `%s`, %s.\n\n", o.Body.Media, o.Body.Type)
		}
		c.describeResponses(&b, op, o)
	}
	return strings.TrimSpace(b.String()), nil
}

// describeResponses lists statuses with their codes, and shows the example of
// the successful answer.
func (c *contract) describeResponses(b *strings.Builder, op operation, o Operation) {
	b.WriteString("| Status | Answer |\n| --- | --- |\n")
	example := ""
	for _, r := range o.Responses {
		var what []string
		for _, content := range r.Contents {
			if r.Codes != nil {
				what = append(what, quoted(r.Codes))
				continue
			}
			what = append(what, "`"+content.Media+"`")
			if _, name := c.deref(op.get("responses", r.Status, "content", content.Media, "schema")); name != "" && name != "File" {
				what = append(what, name)
			}
			if r.Status == "200" && content.Media == "application/json" && content.Example != "" {
				example = "```json\n" + content.Example + "```\n\n"
			}
		}
		fmt.Fprintf(b, "| %s | %s %s |\n", r.Status, cell(r.About), strings.Join(what, ", "))
	}
	b.WriteString("\n" + example)
}

// codesOf lists the codes of a problem's schema.
func (c *contract) codesOf(schema node) (codes []string) {
	for _, part := range schema.get("allOf").list() {
		codes = append(codes, part.get("properties", "code", "enum").texts()...)
	}
	return codes
}

// describeSchemas writes a section for each record that the other document does
// not have; simple types are described where they are used.
func (c *contract) describeSchemas(other *contract) string {
	var b strings.Builder
	for _, r := range c.records(other) {
		fmt.Fprintf(&b, "#### %s\n\n", r.Name)
		if r.About != "" && r.Name != "ErrorCode" { // its codes have a part of their own
			b.WriteString(r.About + "\n\n")
		}
		if r.Values != nil {
			fmt.Fprintf(&b, "One of %s.\n\n", quoted(r.Values))
		}
		if r.Fields != nil {
			b.WriteString("| Field | Type | Always | Meaning |\n| --- | --- | --- | --- |\n")
			for _, f := range r.Fields {
				always := map[bool]string{true: "yes", false: "no"}[f.Always]
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, cell(f.Type), always, cell(f.About))
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// fields returns the fields of a record. Those of unnamed objects follow their
// field, prefixed with its path.
func (c *contract) fields(path string, s node) (all []Field) {
	required := s.get("required").texts()
	for name, field := range s.get("properties").members() {
		target, ref := c.deref(field)
		about := field.get("description").text()
		if about == "" && ref != "" && !target.get("properties").exists() && !target.get("enum").exists() {
			about = target.get("description").text()
		}
		all = append(all, Field{Name: path + name, Type: c.typeOf(field), About: about, Always: slices.Contains(required, name)})
		if ref == "" {
			all = append(all, c.fields(path+name+".", field)...)
			all = append(all, c.fields(path+name+"[].", field.get("items"))...)
		}
	}
	return all
}

// typeOf describes in a few words of Markdown which values a schema allows.
func (c *contract) typeOf(s node) string {
	target, name := c.deref(s)
	switch {
	case name != "" && (target.get("properties").exists() || target.get("enum").exists()):
		return "`" + name + "`"
	case name != "":
		return c.typeOf(target)
	}
	if parts := s.get("anyOf").list(); parts != nil {
		var all []string
		for _, p := range parts {
			all = append(all, c.typeOf(p))
		}
		return strings.Join(all, " or ")
	}
	words := s.get("type").text()
	if several := s.get("type").texts(); several != nil {
		words = strings.Join(several, " or ")
	}
	if words == "array" {
		words = "list of " + c.typeOf(s.get("items"))
	}
	if v := s.get("const"); v.exists() {
		words += ", always `" + v.text() + "`"
	}
	if values := s.get("enum").texts(); values != nil {
		words += ", one of " + quoted(values)
	}
	least, most := s.get("minimum").text(), s.get("maximum").text()
	switch {
	case least != "" && most != "":
		words += ", " + least + " to " + most
	case least != "":
		words += ", at least " + least
	}
	if v := s.get("pattern").text(); v != "" {
		words += ", like `" + v + "`"
	}
	if v := s.get("default").text(); v != "" {
		words += ", default `" + v + "`"
	}
	return words
}

func quoted(values []string) string { return "`" + strings.Join(values, "`, `") + "`" }

// cell makes a text fit into one cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
