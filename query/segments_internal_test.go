package query

import (
	"slices"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// TestQuestionsAreOfOneVisibility: what is remembered for a mandate, or for an
// account, is never found by another that sees something else, whatever else is
// equal. Accounts that see the same share it.
func TestQuestionsAreOfOneVisibility(t *testing.T) {
	with := func(change func(*Visibility)) Visibility {
		v := Visibility{
			Mandate: 1, Versions: []uint64{7}, Applied: true, Snapshot: 5,
			Scope: contracts.AccountScope{Orders: []contracts.OrderID{3}, Sites: []contracts.SiteKey{"a.example"}},
		}
		change(&v)
		return v
	}
	visible := map[string]Visibility{
		"the first":              with(func(*Visibility) {}),
		"another mandate":        with(func(v *Visibility) { v.Mandate = 2 }),
		"another version":        with(func(v *Visibility) { v.Versions = []uint64{8} }),
		"versions of two shards": with(func(v *Visibility) { v.Versions = []uint64{7, 7} }),
		"another order":          with(func(v *Visibility) { v.Scope.Orders = []contracts.OrderID{4} }),
		"two orders":             with(func(v *Visibility) { v.Scope.Orders = []contracts.OrderID{3, 4} }),
		"all orders":             with(func(v *Visibility) { v.Scope.AllOrders = true }),
		"another site":           with(func(v *Visibility) { v.Scope.Sites = []contracts.SiteKey{"b.example"} }),
		"two sites":              with(func(v *Visibility) { v.Scope.Sites = []contracts.SiteKey{"a.example", "b.example"} }),
		"all sites":              with(func(v *Visibility) { v.Scope.AllSites = true }),
		"nothing":                with(func(v *Visibility) { v.Scope.Orders, v.Scope.Sites = nil, nil }),
		"fewer days":             with(func(v *Visibility) { v.Floor = 9 }),
	}
	streams, answers := map[question]string{}, map[answerKey]string{}
	s := &Service{}
	for name, v := range visible {
		about := func(v Visibility) question {
			in := &read{resultsPlan: &resultsPlan{query: ResultsQuery{Selectors: Selectors{Site: "a.example"}}}, vis: v}
			q := must.Get(s.questionOf(t.Context(), in, 1))(t)
			return q
		}
		again := v
		again.Versions, again.Scope.Orders, again.Scope.Sites = slices.Clone(v.Versions), slices.Clone(v.Scope.Orders), slices.Clone(v.Scope.Sites)
		stream, answer := about(v), keyOf("sites", v, SitesQuery{})
		if about(again) != stream || keyOf("sites", again, SitesQuery{}) != answer {
			t.Errorf("%s: an account that sees the same does not find it", name)
		}
		if other, known := streams[stream]; known {
			t.Errorf("the text of a stream is shared by %q and %q", name, other)
		}
		if other, known := answers[answer]; known {
			t.Errorf("an answer is shared by %q and %q", name, other)
		}
		streams[stream], answers[answer] = name, name
	}
}

// TestSegmentsOutgrown: a text that is too large is not remembered, but that it
// is, also if this shows only at its end.
func TestSegmentsOutgrown(t *testing.T) {
	store := must.Get(newRemembering(nil, Defaults()))(t)
	for bytes, want := range map[int]bool{10: false, 11: true} {
		key := answerKey{byte(bytes)}
		r := &recorder{store: store, run: []segment{{key: key, record: true}}, most: 10, text: segmentText{bytes: bytes}}
		must.Do(t, r.finish(&streamer{}))
		if _, held := store.texts.validity(key); store.outgrown(key) != want || held == want {
			t.Errorf("%d bytes: outgrown %v, remembered %v", bytes, store.outgrown(key), held)
		}
	}
}
