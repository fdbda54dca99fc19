package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/goccy/go-yaml"
)

// node is a value of the document: a mapping in the order of the source
// (yaml.MapSlice), a list ([]any), a scalar, or nothing.
type node struct{ value any }

// contract is the document as a tree.
type contract struct{ root node }

func parse(source []byte) (*contract, error) {
	var value any
	if err := yaml.UnmarshalWithOptions(source, &value, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return &contract{node{value}}, nil
}

// get descends by names; the result is nothing if one does not exist.
func (n node) get(names ...string) node {
	for _, name := range names {
		members, _ := n.value.(yaml.MapSlice)
		n = node{}
		for _, m := range members {
			if m.Key == name {
				n = node{m.Value}
				break
			}
		}
	}
	return n
}

func (n node) exists() bool { return n.value != nil }

func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		members, _ := n.value.(yaml.MapSlice)
		for _, m := range members {
			if !yield(fmt.Sprint(m.Key), node{m.Value}) {
				return
			}
		}
	}
}

func (n node) list() (all []node) {
	values, _ := n.value.([]any)
	for _, v := range values {
		all = append(all, node{v})
	}
	return all
}

// text returns a scalar as text, without the line end of a block; nothing: empty.
func (n node) text() string {
	if n.value == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(n.value))
}

// texts returns the values of a list of scalars.
func (n node) texts() (all []string) {
	for _, v := range n.list() {
		all = append(all, v.text())
	}
	return all
}

// version returns info.version.
func (c *contract) version() string { return c.root.get("info", "version").text() }

// deref follows a reference to its target; name is the last part of the
// reference, empty if n is not one.
func (c *contract) deref(n node) (target node, name string) {
	ref := n.get("$ref").text()
	if ref == "" {
		return n, ""
	}
	path := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	target, _ = c.deref(c.root.get(path...))
	return target, path[len(path)-1]
}

// operation is one method of one path.
type operation struct {
	method, path string
	node
}

// operations yields the operations in the order of the source.
func (c *contract) operations() iter.Seq[operation] {
	return func(yield func(operation) bool) {
		for path, item := range c.root.get("paths").members() {
			for method, op := range item.members() {
				if !yield(operation{strings.ToUpper(method), path, op}) {
					return
				}
			}
		}
	}
}

// public reports whether an operation needs no token.
func (o operation) public() bool {
	own := o.get("security")
	return own.exists() && len(own.list()) == 0
}

// parameters returns those of an operation, with references followed.
func (c *contract) parameters(o operation) (all []node) {
	for _, p := range o.get("parameters").list() {
		p, _ = c.deref(p)
		all = append(all, p)
	}
	return all
}

// encode writes a tree as indented JSON in the order of the source.
func encode(n node) (string, error) {
	var compact, b bytes.Buffer
	if err := encodeTo(&compact, n.value); err != nil {
		return "", err
	}
	if err := json.Indent(&b, compact.Bytes(), "", "  "); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

func encodeTo(b *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case yaml.MapSlice:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encodeTo(b, fmt.Sprint(m.Key)); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := encodeTo(b, m.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encodeTo(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		var scalar bytes.Buffer
		e := json.NewEncoder(&scalar)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		b.Write(bytes.TrimSuffix(scalar.Bytes(), []byte("\n")))
	}
	return nil
}
