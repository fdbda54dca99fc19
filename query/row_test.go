package query_test

import (
	"slices"
	"testing"

	"preismon/query"
)

// TestIncludeOf: the groups of fields of a row are known by its fields, for all
// combinations.
func TestIncludeOf(t *testing.T) {
	for n := range 1 << 5 {
		on := func(bit int) bool { return n>>bit&1 == 1 }
		want := query.Include{Coverage: on(0), OrderIDs: on(1), CustomerData: on(2), ExportFields: on(3), Identity: on(4)}
		columns := query.FeedColumns(want)
		got := query.IncludeOf(func(name string) bool {
			i := slices.Index(query.Names(columns), name)
			return i >= 0 && !columns[i].Optional // which a row may lack
		})
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
