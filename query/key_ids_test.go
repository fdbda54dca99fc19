package query_test

import (
	"slices"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/query"
)

// TestCursorKeyIDs: a key has the same id at any position, different keys have
// different ids, the key that seals comes first, and no id contains a part of
// its key.
func TestCursorKeyIDs(t *testing.T) {
	a, b := contracts.Secret(strings.Repeat("a1", 20)), contracts.Secret(strings.Repeat("b2", 20))
	before := query.Config{CursorKey: a}.CursorKeyIDs()
	after := query.Config{CursorKey: b, VerifyCursorKeys: []contracts.Secret{a}}.CursorKeyIDs()
	if len(before) != 1 || len(after) != 2 || after[1] != before[0] || after[0] == after[1] {
		t.Errorf("%q, after a rotation %q", before, after)
	}
	for _, id := range slices.Concat(before, after) {
		if len(id) != 16 || strings.Contains(id, "a1a1") || strings.Contains(id, "b2b2") {
			t.Errorf("id %q", id)
		}
	}
}
