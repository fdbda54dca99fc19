package search_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"preismon/deploy/testserver/equals"
	"preismon/query/search"
)

func TestIn(t *testing.T) {
	for _, c := range []struct {
		query, text       string
		found, misspelled bool
	}{
		{"marker", "Whiteboard MARKER blue", true, false},
		{"blue marker", "Whiteboard MARKER blue", true, false},
		{"cafe creme", "Crème Café 500 g", true, false},
		{"strasse", "Große Straße", true, false},
		{"ibu", "Ibuprofen 400", true, false},
		{"profen", "Ibuprofen 400", true, false},
		{"ibuprofne", "Ibuprofen 400", true, true},
		{"ibuprfn", "Ibuprofen 400", false, false}, // seven letters may have one mistake
		{"markr", "Marker", true, true},
		{"ibuprofen 600", "Ibuprofen 400", false, false},
		{"mbrker", "Marker", true, true},
		{"abc", "abd", false, false},
		{"marker pencil", "Marker", false, false},
		{"", "anything", true, false},
		{"!?", "anything", true, false},
	} {
		m, found := search.New(c.query).In(c.text)
		if found != c.found || m.Misspelled != c.misspelled {
			t.Errorf("%q in %q: %t %+v", c.query, c.text, found, m)
		}
	}
}

// Whole words rank before prefixes, parts and misspellings.
func TestBetterMatchesAreNearer(t *testing.T) {
	texts := []string{"Marker", "Markerset", "Textmarker", "Marter"}
	last := -1
	for _, text := range texts {
		m, found := search.New("marker").In(text)
		if !found || m.Distance <= last {
			t.Errorf("%s: %t %+v after %d", text, found, m, last)
		}
		last = m.Distance
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		most, want int
	}{
		{"", "", 2, 0}, {"a", "", 2, 1}, {"kitten", "sitting", 5, 3}, {"ab", "ba", 2, 1}, {"über", "uber", 2, 1}, {"abcdef", "uvwxyz", 3, 4}, {"a", "b", 0, 1},
	} {
		equals.Is(t, c.want, search.Distance(c.a, c.b, c.most), "%q %q", c.a, c.b)
	}
}

// A bound changes no distance within it, and the distance is the same both
// ways.
func TestDistanceIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		most := rapid.IntRange(0, 7).Draw(t, "most")
		full := search.Distance(a, b, 12)
		if got := search.Distance(b, a, most); got != min(full, most+1) {
			t.Fatalf("%q %q: %d within %d, %d", a, b, got, most, full)
		}
		if (full == 0) != (a == b) {
			t.Fatalf("%q %q: %d", a, b, full)
		}
	})
}

func TestNearest(t *testing.T) {
	n := search.NearestTo("amazn-de")
	for _, key := range []string{"shop-one", "amazon-be", "amazon-de", "amazon-fr", "amazon-co-uk", "ebay-de"} {
		n.Add(key, key)
	}
	if got := n.Found(); !slices.Equal(got, []string{"amazon-de", "amazon-be"}) {
		t.Error(got)
	}
	n = search.NearestTo("Market Germany")
	n.Add("market-de (Market Germany)", "market-de", "Market Germany")
	n.Add("shop-one", "shop-one", "Shop One")
	if got := n.Found(); !slices.Equal(got, []string{"market-de (Market Germany)"}) {
		t.Error(got)
	}
	if got := search.NearestTo("zzz").Found(); got != nil {
		t.Error(got)
	}
}
