package rest

import (
	"maps"
	"slices"
)

// Routes names every route as "GET /v1/sites", for tests that must know all.
func Routes() (all []string) {
	for _, r := range (&api{}).routes().Routes() {
		all = append(all, r.Method+" "+r.Path)
	}
	slices.Sort(all)
	return all
}

// Codes gives the status of every code.
func Codes() map[string]int {
	all := map[string]int{}
	for _, code := range slices.Sorted(maps.Keys(meanings)) {
		all[code] = meanings[code].status
	}
	return all
}
