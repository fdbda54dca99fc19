package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// part is the contract for one use: the operations of some groups with what they
// refer to, and nothing else. Each part is valid by itself.
type part struct {
	name, title, about string
	tags               []string
}

var parts = []part{
	{
		"reads", "Reads", "Sites, products, orders and results, and the login before them.",
		[]string{"health", "authentication", "catalogue", "orders", "results"},
	},
	{
		"files", "Files", "The archived files of orders, the orders that they belong to, and the login before them.",
		[]string{"authentication", "orders", "exports", "imports"},
	},
	{
		"agents", "AI agents", "The endpoint of the Model Context Protocol. Its tools describe themselves by tools/list.",
		[]string{"mcp"},
	},
}

func (p part) path() string { return "/openapi/" + p.name + ".yaml" }

// part returns the document of p.
func (c *contract) part(p part) node {
	components := map[string]map[string]bool{}
	var paths yaml.MapSlice
	for path, item := range c.root.get("paths").members() {
		var kept yaml.MapSlice
		for method, op := range item.members() {
			if slices.ContainsFunc(op.get("tags").texts(), func(tag string) bool { return slices.Contains(p.tags, tag) }) {
				kept = append(kept, yaml.MapItem{Key: method, Value: op.value})
				c.reach(op, components)
				if scheme := c.scheme(operation{method, path, op}); scheme != "" {
					reached(components, "securitySchemes", scheme)
				}
			}
		}
		if kept != nil {
			paths = append(paths, yaml.MapItem{Key: path, Value: kept})
		}
	}
	var out yaml.MapSlice
	for name, member := range c.root.members() {
		switch name {
		case "info":
			member = info(member, p)
		case "security": // what applies where an operation does not specify its own
			member = node{slices.DeleteFunc(slices.Clone(member.value.([]any)), func(requirement any) bool {
				for scheme := range (node{requirement}).members() {
					return !components["securitySchemes"][scheme]
				}
				return false
			})}
		case "tags":
			member = node{slices.DeleteFunc(slices.Clone(member.value.([]any)), func(tag any) bool {
				return !slices.Contains(p.tags, node{tag}.get("name").text())
			})}
		case "paths":
			member = node{paths}
		case "components":
			member = node{only(member, components)}
		}
		out = append(out, yaml.MapItem{Key: name, Value: member.value})
	}
	return node{out}
}

// info says which part of the contract this is, and where the whole contract is.
func info(whole node, p part) node {
	var out yaml.MapSlice
	for name, member := range whole.members() {
		switch name {
		case "title":
			member = node{member.text() + ": " + p.title}
		case "description":
			member = node{p.about + " This is a part of the contract at {base_url}" + YAMLPath + ", which says what holds for all requests."}
		}
		out = append(out, yaml.MapItem{Key: name, Value: member.value})
	}
	return node{out}
}

// reach records the components that n refers to, and those that they refer to.
func (c *contract) reach(n node, components map[string]map[string]bool) {
	if ref := n.get("$ref").text(); ref != "" {
		kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
		if reached(components, kind, name) {
			c.reach(c.root.get("components", kind, name), components)
		}
		return
	}
	for _, member := range n.members() {
		c.reach(member, components)
	}
	for _, element := range n.list() {
		c.reach(element, components)
	}
}

// reached records the component, and reports whether it is new.
func reached(components map[string]map[string]bool, kind, name string) bool {
	if components[kind] == nil {
		components[kind] = map[string]bool{}
	}
	before := components[kind][name]
	components[kind][name] = true
	return !before
}

// only returns the wanted components, in the order of the source.
func only(all node, wanted map[string]map[string]bool) (out yaml.MapSlice) {
	for kind, members := range all.members() {
		var kept yaml.MapSlice
		for name, member := range members.members() {
			if wanted[kind][name] {
				kept = append(kept, yaml.MapItem{Key: name, Value: member.value})
			}
		}
		if kept != nil {
			out = append(out, yaml.MapItem{Key: kind, Value: kept})
		}
	}
	return out
}

// partDocuments returns the parts as YAML.
func (c *contract) partDocuments() (all []source, err error) {
	for _, p := range parts {
		text, err := yaml.MarshalWithOptions(c.part(p).value, yaml.UseLiteralStyleIfMultiline(true))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path(), err)
		}
		all = append(all, source{p.path(), "application/yaml", string(text)})
	}
	return all, nil
}
