package projector

import (
	"fmt"
	"testing"

	"preismon/deploy/testserver/equals"
)

// TestFindingsAreBounded: of any number of places only the first of a kind are
// kept, and the others are counted, also when they were collected by mandate.
func TestFindingsAreBounded(t *testing.T) {
	const places, mandates = 2_000, 3
	var all findings
	for m := range mandates {
		var of findings
		for n := range uint64(places) {
			seq := 1 + 4*(n/2) + n%2*2
			for range 2 { // two sequences in a row are one place
				of.find(Finding{What: []string{Missing, Doubled}[n%2], Where: "observations_by_mandate", Mandate: fmt.Sprint(m), Epoch: 1, First: seq, Last: seq, Count: 3}, "")
				seq++
			}
		}
		equals.Is(t, 2*(maxFindings+1), len(of.list), "findings of a mandate are kept")
		all.add(&of)
	}
	list := all.close()
	equals.Is(t, 2*(maxFindings+1), len(list), "findings are kept")
	sums := map[string]uint64{}
	for _, f := range list {
		sums[f.What] += f.Count
	}
	if want := uint64(mandates * places * 3); sums[Missing] != want || sums[Doubled] != want {
		t.Errorf("they count %v, want %d each", sums, want)
	}
	rest := uint64(mandates*places/2 - maxFindings)
	if text, want := list[len(list)-1].Text, fmt.Sprintf("and %d more places like that in observations_by_mandate, with %d in all", rest, rest*6); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
