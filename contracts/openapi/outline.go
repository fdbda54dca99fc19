package openapi

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Outline is the contract in the form that the reference page renders, in the
// order of the document. Texts called About, and types, are Markdown (CommonMark, with
// tables), in which schemas, codes and operations are marked as code. About and
// examples contain {base_url}.
type Outline struct {
	Title, Summary, About string
	Tags                  []Tag
	Schemas               []Record
	Headers               []Header
	Codes                 []string // of errors
}

// Tag is a group of operations.
type Tag struct {
	Name, About string
	Operations  []Operation
}

// Operation is a request that can be sent.
type Operation struct {
	ID, Method, Path, Summary, About string

	Security   string // scheme of its token: bearer or oauth; empty: it accepts none
	Parameters []Field
	Body       *Content
	Responses  []Response
	// Sample is the path and query of a request like those in the examples.
	Sample string
}

// Field is a parameter, or a member of a record with the path to it.
type Field struct {
	Name, In, Type, About, Example string
	Always                         bool // required, or always present
}

// Response is one status that an operation answers with.
type Response struct {
	Status, About string
	Headers       []string
	Contents      []Content
	Codes         []string // of the problem
}

// Content is a body in one media type.
type Content struct{ Media, Type, Example string }

// Record is a named schema: fields, or a text that is one of Values.
type Record struct {
	Name, About string
	Fields      []Field
	Values      []string
}

// Header is a header of answers.
type Header struct{ Name, Type, About string }

// Outlined returns the contract in the form a page needs.
func Outlined() (*Outline, error) {
	c, err := parsed()
	if err != nil {
		return nil, err
	}
	ext, err := extended()
	if err != nil {
		return nil, err
	}
	info := c.root.get("info")
	o := &Outline{
		Title: info.get("title").text(), Summary: info.get("summary").text(), About: info.get("description").text(),
		Schemas: append(c.records(&contract{}), ext.records(c)...), Codes: c.root.get("components", "schemas", "ErrorCode", "enum").texts(),
	}
	for name, h := range c.root.get("components", "headers").members() {
		o.Headers = append(o.Headers, Header{name, c.typeOf(h.get("schema")), h.get("description").text()})
	}
	if err := errors.Join(c.outlineTags(o), ext.outlineTags(o)); err != nil {
		return nil, err
	}
	return o, nil
}

// outlineTags adds the operations of a document.
func (c *contract) outlineTags(o *Outline) error {
	from := len(o.Tags)
	for _, tag := range c.root.get("tags").list() {
		o.Tags = append(o.Tags, Tag{Name: tag.get("name").text(), About: tag.get("description").text()})
	}
	for op := range c.operations() {
		outlined, err := c.outline(op)
		if err != nil {
			return err
		}
		for i := from; i < len(o.Tags); i++ {
			if slices.Contains(op.get("tags").texts(), o.Tags[i].Name) {
				o.Tags[i].Operations = append(o.Tags[i].Operations, outlined)
			}
		}
	}
	return nil
}

func (c *contract) outline(op operation) (o Operation, err error) {
	o = Operation{
		ID: op.get("operationId").text(), Method: op.method, Path: op.path, Summary: op.get("summary").text(), About: op.get("description").text(),
		Security: c.scheme(op), Sample: c.sample(op),
	}
	for _, p := range c.parameters(op) {
		required, _ := p.get("required").value.(bool)
		o.Parameters = append(o.Parameters, Field{
			Name: p.get("name").text(), In: p.get("in").text(), Type: c.typeOf(p.get("schema")), About: p.get("description").text(),
			Example: p.get("example").text(), Always: required,
		})
	}
	body, err := c.contents(op.get("requestBody", "content"))
	if err != nil {
		return o, err
	}
	for _, b := range body {
		o.Body = &b
	}
	for status, r := range op.get("responses").members() {
		r, _ = c.deref(r)
		out := Response{Status: status, About: r.get("description").text()}
		for name := range r.get("headers").members() {
			out.Headers = append(out.Headers, name)
		}
		for _, content := range r.get("content").members() {
			out.Codes = append(out.Codes, c.codesOf(content.get("schema"))...)
		}
		if out.Contents, err = c.contents(r.get("content")); err != nil {
			return o, err
		}
		o.Responses = append(o.Responses, out)
	}
	return o, nil
}

// scheme returns the security scheme of an operation; empty: none.
func (c *contract) scheme(op operation) string {
	schemes := op.get("security")
	if !schemes.exists() {
		schemes = c.root.get("security")
	}
	for _, s := range schemes.list() {
		for name := range s.members() {
			return name
		}
	}
	return ""
}

func (c *contract) contents(of node) (all []Content, err error) {
	for media, content := range of.members() {
		one := Content{Media: media, Type: c.typeOf(content.get("schema"))}
		if example := content.get("example"); example.exists() {
			if one.Example, err = encode(example); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// sampled are the ids of the examples, for the requests that need one.
var sampled = map[string]string{"{{itemId}}": "4711", "{{site}}": "shop-one"}

// sample returns the path and query of a request as the Postman collection sends it.
func (c *contract) sample(op operation) string {
	path, query := op.path, url.Values{}
	for _, p := range c.parameters(op) {
		if p.get("in").text() == "path" {
			path = strings.ReplaceAll(path, "{"+p.get("name").text()+"}", p.get("example").text())
		}
	}
	for name, value := range enabled[op.get("operationId").text()] {
		query.Set(name, cmp.Or(sampled[value], value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// records returns the schemas that have a section of their own, without those
// that the other document has.
func (c *contract) records(other *contract) (all []Record) {
	for name, s := range c.root.get("components", "schemas").members() {
		if (s.get("properties").exists() || s.get("enum").exists()) && !other.root.get("components", "schemas", name).exists() {
			all = append(all, Record{Name: name, About: s.get("description").text(), Fields: c.fields("", s), Values: s.get("enum").texts()})
		}
	}
	return all
}
