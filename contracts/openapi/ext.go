package openapi

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// Paths of the documents of /ext/v1.
const (
	ExtYAMLPath      = "/openapi/ext.yaml"
	ExtJSONPath      = "/openapi/ext.json"
	ExtChangelogPath = "/openapi/EXT-CHANGELOG.md"
)

//go:embed ext.yaml
var extension []byte

//go:embed EXT-CHANGELOG.md
var extChangelog string

// shared is the beginning of references in ext.yaml to what /v1 declares.
const shared = "openapi.yaml#"

// ExtYAML returns the document of /ext/v1, including what it shares with /v1,
// with {base_url} not filled in.
func ExtYAML() ([]byte, error) {
	c, err := extended()
	if err != nil {
		return nil, err
	}
	return yaml.MarshalWithOptions(c.root.value, yaml.UseLiteralStyleIfMultiline(true))
}

// extended is the document of /ext/v1 as a self-contained tree: what it shares
// with /v1 is declared only there and copied here.
var extended = sync.OnceValues(func() (*contract, error) {
	base, err := parsed()
	if err != nil {
		return nil, err
	}
	c, err := parse(extension)
	if err != nil {
		return nil, fmt.Errorf("ext.yaml: %w", err)
	}
	b := bundle{root: c.root.value.(yaml.MapSlice), seen: map[string]bool{}}
	b.root = b.rewritten(b.root).(yaml.MapSlice)
	for len(b.missing) > 0 {
		path := b.missing[0]
		b.missing = b.missing[1:]
		target := base.root.get(path...)
		if !target.exists() {
			return nil, fmt.Errorf("ext.yaml: openapi.yaml has no %s", strings.Join(path, "/"))
		}
		b.root = put(b.root, path, b.copied(target.value))
	}
	return &contract{node{b.root}}, nil
})

// bundle copies what a document refers to in another one.
type bundle struct {
	root    yaml.MapSlice
	seen    map[string]bool
	missing [][]string // components still to be copied
}

// need requests a component, if it has not been requested yet.
func (b *bundle) need(pointer string) {
	if !b.seen[pointer] {
		b.seen[pointer] = true
		b.missing = append(b.missing, strings.Split(strings.TrimPrefix(pointer, "/"), "/"))
	}
}

// rewritten returns a part of the document with its references made internal.
func (b *bundle) rewritten(v any) any { return b.walk(v, shared) }

// copied returns a part of the other document, whose references are internal to that one.
func (b *bundle) copied(v any) any { return b.walk(v, "#") }

func (b *bundle) walk(v any, prefix string) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		out := make(yaml.MapSlice, len(v))
		for i, m := range v {
			out[i] = yaml.MapItem{Key: m.Key, Value: b.walk(m.Value, prefix)}
			ref, isText := m.Value.(string)
			if pointer, ok := strings.CutPrefix(ref, prefix+"/"); m.Key == "$ref" && isText && ok {
				b.need("/" + pointer)
				out[i].Value = "#/" + pointer
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.walk(e, prefix)
		}
		return out
	}
	return v
}

// put sets a value at a path, and creates what is missing on the way.
func put(m yaml.MapSlice, path []string, value any) yaml.MapSlice {
	i := slices.IndexFunc(m, func(item yaml.MapItem) bool { return item.Key == path[0] })
	if i < 0 {
		m = append(m, yaml.MapItem{Key: path[0], Value: yaml.MapSlice{}})
		i = len(m) - 1
	}
	if len(path) == 1 {
		m[i].Value = value
		return m
	}
	below, _ := m[i].Value.(yaml.MapSlice)
	m[i].Value = put(below, path[1:], value)
	return m
}
