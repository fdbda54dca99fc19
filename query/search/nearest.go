package search

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest collects, out of many keys, those most similar to a key that matches
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

// maxNearest is how many keys are returned at most.
const maxNearest = 3

// NearestTo searches for keys similar to the one that was typed: one mistake
// per three letters, but at least one.
func NearestTo(key string) *Nearest {
	return &Nearest{key: Fold(key), most: max(1, len(key)/3)}
}

// Add compares a key by its names; shown is the text that Found returns for it.
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

// Found returns the keys found, most similar first; nil: none is similar.
func (n *Nearest) Found() (all []string) {
	for _, f := range n.found {
		all = append(all, f.text)
	}
	return all
}
