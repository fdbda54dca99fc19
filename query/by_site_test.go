package query

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
)

// TestBySite: a value is found again in whichever order sites are visited, and
// only the first visit of a site makes one.
func TestBySite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got bySite[int]
		want := map[contracts.SiteKey]int{}
		for range rapid.IntRange(1, 5).Draw(t, "items") {
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 6), 0, 8).Draw(t, "sites") {
				site := contracts.SiteKey(fmt.Sprint("site-", n))
				_, known := want[site]
				want[site]++
				value, made := got.of(site)
				*value++
				if made == known || *value != want[site] {
					t.Fatalf("%s: %d, made %v; want %d", site, *value, made, want[site])
				}
			}
		}
		var sites []contracts.SiteKey
		all := map[contracts.SiteKey]int{}
		for site, value := range got.sorted() {
			sites = append(sites, site)
			all[site] = *value
		}
		equals.Checkf(t, want, all, "all")
		if !slices.IsSorted(sites) {
			t.Errorf("%v", sites)
		}
	})
}
