package search

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest collects those of many keys that are most like one that names
// nothing.
type Nearest struct {
	key   string
	most  int // mistakes
	found []near
}

type near struct {
	text     string
	distance int
}

// maxNearest is how many are given.
const maxNearest = 3

// NearestTo looks for keys like the one that was typed: one mistake for each
// three letters, at least one.
func NearestTo(key string) *Nearest {
	return &Nearest{key: Fold(key), most: max(1, len(key)/3)}
}

// Add looks at a key, which is shown as a text, by its other names too.
func (n *Nearest) Add(shown string, names ...string) {
	best := n.most + 1
	for _, name := range names {
		name = Fold(name)
		if len(n.key) > 2 && name != "" && (strings.Contains(name, n.key) || len(name) > 2 && strings.Contains(n.key, name)) {
			best = min(best, 1)
		}
		best = min(best, Distance(n.key, name, best-1))
	}
	if best > n.most {
		return
	}
	at, _ := slices.BinarySearchFunc(n.found, near{shown, best}, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.text, b.text))
	})
	n.found = slices.Insert(n.found, at, near{shown, best})
	n.found = n.found[:min(len(n.found), maxNearest)]
}

// Found gives the most similar ones first; nil: none is similar.
func (n *Nearest) Found() (all []string) {
	for _, f := range n.found {
		all = append(all, f.text)
	}
	return all
}
