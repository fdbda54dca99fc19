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
		"schemas":       c.describeSchemas,
		"extVersion":    ext.version,
		"extOperations": ext.describeOperations,
		"extSchemas":    func() string { return ext.describeSchemasBut(c) },
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
		fmt.Fprintf(&b, "#### %s %s\n\n%s.", op.method, op.path, op.get("summary").text())
		if op.public() {
			b.WriteString(" No token.")
		}
		b.WriteString("\n\n")
		if d := op.get("description").text(); d != "" {
			b.WriteString(d + "\n\n")
		}
		c.describeParameters(&b, op)
		if body := op.get("requestBody", "content"); body.exists() {
			for media, content := range body.members() {
				fmt.Fprintf(&b, "Request body: `%s`, %s.\n\n", media, c.typeOf(content.get("schema")))
			}
		}
		if err := c.describeResponses(&b, op); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func (c *contract) describeParameters(b *strings.Builder, op operation) {
	parameters := c.parameters(op)
	if len(parameters) == 0 {
		return
	}
	b.WriteString("| Parameter | In | Type | Meaning |\n| --- | --- | --- | --- |\n")
	for _, p := range parameters {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.get("name").text(), p.get("in").text(), cell(c.typeOf(p.get("schema"))), cell(p.get("description").text()))
	}
	b.WriteString("\n")
}

// describeResponses lists statuses with their codes, and shows the example of
// the successful answer.
func (c *contract) describeResponses(b *strings.Builder, op operation) error {
	b.WriteString("| Status | Answer |\n| --- | --- |\n")
	for status, r := range op.get("responses").members() {
		r, _ = c.deref(r)
		var what []string
		for media, content := range r.get("content").members() {
			if codes := c.codesOf(content.get("schema")); codes != nil {
				what = append(what, quoted(codes))
				continue
			}
			what = append(what, "`"+media+"`")
			if _, name := c.deref(content.get("schema")); name != "" && name != "File" {
				what = append(what, name)
			}
		}
		fmt.Fprintf(b, "| %s | %s %s |\n", status, cell(r.get("description").text()), strings.Join(what, ", "))
	}
	b.WriteString("\n")
	example := op.get("responses", "200", "content", "application/json", "example")
	if !example.exists() {
		return nil
	}
	text, err := encode(example)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "```json\n%s```\n\n", text)
	return nil
}

// codesOf lists the codes of a problem's schema.
func (c *contract) codesOf(schema node) (codes []string) {
	for _, part := range schema.get("allOf").list() {
		codes = append(codes, part.get("properties", "code", "enum").texts()...)
	}
	return codes
}

// describeSchemas writes a section for each schema that is an object or an enum;
// simple types are described where they are used.
func (c *contract) describeSchemas() string { return c.describeSchemasBut(&contract{}) }

// describeSchemasBut leaves out what another document has.
func (c *contract) describeSchemasBut(other *contract) string {
	var b strings.Builder
	for name, s := range c.root.get("components", "schemas").members() {
		if other.root.get("components", "schemas", name).exists() {
			continue
		}
		if !s.get("properties").exists() && !s.get("enum").exists() {
			continue
		}
		fmt.Fprintf(&b, "#### %s\n\n", name)
		if d := s.get("description").text(); d != "" && name != "ErrorCode" { // its codes have a part of their own
			b.WriteString(d + "\n\n")
		}
		if values := s.get("enum").texts(); values != nil {
			fmt.Fprintf(&b, "One of %s.\n\n", quoted(values))
		}
		if s.get("properties").exists() {
			b.WriteString("| Field | Type | Always | Meaning |\n| --- | --- | --- | --- |\n")
			c.describeFields(&b, s)
			b.WriteString("\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// describeFields writes a line for each field.
func (c *contract) describeFields(b *strings.Builder, s node) {
	for _, f := range c.fields("", s) {
		always := "no"
		if f.Always {
			always = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Name, cell(f.Type), always, cell(f.About))
	}
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
