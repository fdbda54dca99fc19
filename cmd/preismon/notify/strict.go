package notify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// read decodes a file of one document. Unknown keys are faults, each with its
// line, and so are values of the wrong kind.
func (c *checker) read(text []byte) error {
	var err error
	if c.root, err = parser.ParseBytes(text, 0); err != nil {
		return fmt.Errorf("rules: %s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if len(c.root.Docs) != 1 || c.root.Docs[0].Body == nil {
		return errors.New("rules: empty, or more than one YAML document")
	}
	c.known(c.root.Docs[0].Body, reflect.TypeFor[File](), "")
	if err := yaml.NodeToValue(c.root.Docs[0].Body, c.file); err != nil {
		c.want(false, "$", "%s", strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return nil
}

// scalar is a value exactly as written: the leading zeros of an EAN are part of it.
type scalar string

// UnmarshalYAML accepts numbers and text.
func (s *scalar) UnmarshalYAML(n ast.Node) error {
	if _, ok := n.(ast.ScalarNode); !ok {
		return errors.New("must be one value")
	}
	*s = scalar(n.GetToken().Value)
	return nil
}

// known reports the keys that a struct does not have.
func (c *checker) known(n ast.Node, t reflect.Type, at string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		if t.Kind() == reflect.Slice {
			for i, v := range n.Values {
				c.known(v, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
			}
		}
	case ast.MapNode:
		for pairs := n.MapRange(); pairs.Next(); {
			key := pairs.Key().GetToken().Value
			switch t.Kind() {
			case reflect.Map:
				c.known(pairs.Value(), t.Elem(), path(at, key))
			case reflect.Struct:
				f, ok := fieldOf(t, key)
				if !ok {
					c.at(pairs.Key().GetToken().Position.Line, "%s: not known", path(at, key))
					continue
				}
				c.known(pairs.Value(), f.Type, path(at, key))
			}
		}
	}
}

func path(at, key string) string { return strings.TrimPrefix(at+"."+key, ".") }

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("yaml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// want records a fault of the node at a path, unless ok.
func (c *checker) want(ok bool, at, format string, args ...any) {
	if ok {
		return
	}
	for { // the node, or its nearest existing ancestor
		if p, err := yaml.PathString(at); err == nil {
			if n, err := p.FilterFile(c.root); err == nil && n != nil {
				c.at(lineOf(n), format, args...)
				return
			}
		}
		above := strings.LastIndexAny(at, ".[")
		if above < 1 {
			c.at(1, format, args...)
			return
		}
		at = at[:above]
	}
}

// lineOf returns the first line of a node.
func lineOf(n ast.Node) int {
	if m, ok := n.(ast.MapNode); ok {
		if pairs := m.MapRange(); pairs.Next() {
			return pairs.Key().GetToken().Position.Line
		}
	}
	return n.GetToken().Position.Line
}

func (c *checker) at(line int, format string, args ...any) {
	c.faults.Check(false, "line %d: %s", line, fmt.Sprintf(format, args...))
}

func sorted[V any, K cmp.Ordered](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
