package query

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The number at a position is the one that sorting puts there, whether few or
// many of the numbers are equal.
func TestNthLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, rapid.SampledFrom([]int64{1, 20, 1 << 40}).Draw(t, "most")), 1, 200).Draw(t, "all")
		n := rapid.IntRange(0, len(all)-1).Draw(t, "n")
		sorted := slices.Sorted(slices.Values(all))
		if got := nthSmallest(all, n); got != sorted[n] {
			t.Fatalf("place %d has %d, want %d", n, got, sorted[n])
		}
		slices.Sort(all)
		if !slices.Equal(all, sorted) {
			t.Fatalf("other numbers are left: %d", all)
		}
	})
}
