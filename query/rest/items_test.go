package rest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
)

// TestItemCandidates searches among 10,000 and 10,001 candidates of real rows.
// The account sees only order 2; for it, the items of order 1 are candidates
// and nothing more: ITEM-02, ITEM-03, ERR-13, LIM-04, VIS-02.
func TestItemCandidates(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	e.account(ofWhole, 1, "", "")
	e.account(ofOrder101, 1, "[2]", "")
	e.account(ofOther, 2, "", "")
	// Per locale: the number of hidden candidates, and the positions of the
	// visible ones.
	locales := []struct {
		key     string
		hidden  int
		visible []int
	}{
		{"de", 9_999, []int{10_000}},      // the last candidate within the budget
		{"fr", 10_000, []int{10_001}},     // one too late
		{"it", 15_000, []int{5, 10_006}},  // the second is one too late for a budget that begins at the first
		{"es", 10_000, nil},               // none, exactly the budget
		{"nl", 10_001, nil},               // none, and one candidate more
		{"pl", 12_000, []int{1, 2, 3, 4}}, // a full page long before the end
	}
	base := 0
	for _, l := range locales {
		visible := strings.Join(strings.Fields(fmt.Sprint(l.visible)), ",")
		n := l.hidden + len(l.visible)
		e.exec(fmt.Sprintf("INSERT INTO items SELECT %d + number + 1, '', '', concat('B', leftPad(toString(number + 1), 9, '0')), '%s', '', '', '', 1 FROM numbers(%d)", base, l.key, n))
		e.exec(fmt.Sprintf("INSERT INTO scope_pairs SELECT 1, 7, %d + number + 1, 'shop', [if(has(arrayMap(x -> toUInt64(x), %s), number + 1), 2, 1)] FROM numbers(%d)", base, visible, n))
		base += 100_000
	}
	// Candidates belong to the caller's own mandate: the items of others do not
	// count.
	e.exec("INSERT INTO items SELECT 900000 + number, '', '', concat('C', leftPad(toString(number), 9, '0')), 'de', '', '', '', 1 FROM numbers(1, 20000)")
	e.scope(2, 7, "SELECT 900000 + number AS item, 'shop' AS site, [9] AS orders FROM numbers(1, 20000)")
	e.exec("INSERT INTO scopes SELECT 1, 7, count(), uniqExact(item) FROM scope_pairs WHERE mandate = 1 AND version = 7")
	e.exec("INSERT INTO scopes_applied VALUES (1, 0, 7)")

	tooBroad := func(path string) {
		t.Helper()
		e.get(path, e.token(ofOrder101)).wantProblem(t, 400, "ITEM_SCOPE_TOO_BROAD")
	}
	items := func(path string) []string { t.Helper(); return keys(e.read(ofOrder101, path), "itemId") }
	if got := items("/v1/items?asinLocale=de"); !slices.Equal(got, []string{"10000"}) {
		t.Errorf("%v", got)
	}
	tooBroad("/v1/items?asinLocale=fr")
	tooBroad("/v1/items?asinLocale=fr&limit=1")
	if got := items("/v1/items?asinLocale=fr&asin=B000010001"); !slices.Equal(got, []string{"110001"}) { // narrower: ITEM-03
		t.Errorf("%v", got)
	}
	if got := items("/v1/items?asinLocale=fr&asin=B000000001"); got != nil { // the mandate has it, but the account may not see it
		t.Errorf("%v", got)
	}
	if got := items("/v1/items?itemId=110001"); !slices.Equal(got, []string{"110001"}) {
		t.Errorf("%v", got)
	}
	tooBroad("/v1/items?asinLocale=it&limit=2")
	first := e.read(ofOrder101, "/v1/items?asinLocale=it&limit=1") // complete with the budget used up
	second := e.read(ofOrder101, "/v1/items?asinLocale=it&limit=1&cursor="+first.Paging.NextCursor)
	if got := append(keys(first, "itemId"), keys(second, "itemId")...); !slices.Equal(got, []string{"200005", "210006"}) { // ITEM-03
		t.Errorf("%v", got)
	}
	if got := items("/v1/items?asinLocale=es"); got != nil {
		t.Errorf("%v", got)
	}
	tooBroad("/v1/items?asinLocale=nl")
	if got := items("/v1/items?asinLocale=pl&limit=3"); !slices.Equal(got, []string{"500001", "500002", "500003"}) {
		t.Errorf("%v", got)
	}
	tooBroad("/v1/items?asinLocale=pl&limit=5")
	if got := e.read(ofWhole, "/v1/items?limit=1000&asinLocale=nl"); len(got.Data) != 1000 || got.Paging.NextCursor == "" { // who sees all candidates is not refused
		t.Errorf("%d, %+v", len(got.Data), got.Paging)
	}
	if got := len(items("/v1/items?limit=1000")); got != 8 { // no search: no candidates; ITEM-K1
		t.Errorf("%d items", got)
	}
}

// LOC-K1, LOC-01a, LOC-01b, LOC-01c, LIM-03, ERR-13.
func TestASINLocales(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	e.account(ofWhole, 1, "", "")
	e.account(ofShopB, 1, "", "['b']")
	e.account(ofOther, 2, "", "")
	e.account(ofNothing, 3, "", "")
	// 600 items over 300 keys; mandate 1 sees 257 of them, at site b one less.
	e.exec(`INSERT INTO items SELECT number + 1, '', '', 'B000000001', concat(char(97 + intDiv(number % 300, 26)), char(97 + number % 300 % 26)), '', '', '', 1 FROM numbers(600)`)
	e.exec("INSERT INTO items VALUES (601, '96385074', '', '', '', '', '', '', 1)")
	e.scope(1, 7, "SELECT number + 1 AS item, if(number % 300 = 256, 'a', 'b') AS site, [1] AS orders FROM numbers(600) WHERE number % 300 < 257 UNION ALL SELECT 601, 'b', [1]")
	e.scope(2, 7, "SELECT * FROM VALUES('item UInt64, site String, orders Array(UInt64)', (3, 'a', [2]), (303, 'b', [2]), (1, 'a', [2]), (601, 'a', [2]))")

	want := `{"data":[{"asinLocale":"aa"},{"asinLocale":"ac"}],"paging":{"limit":256,"returned":2},"query":{}}`
	if got := string(e.get("/v1/items/asin-locales", e.token(ofOther)).body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := e.read(ofShopB, "/v1/items/asin-locales")
	got := keys(p, "asinLocale")
	if len(got) != 256 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 256 {
		t.Errorf("%d keys: %v", len(got), got)
	}
	e.get("/v1/items/asin-locales", e.token(ofWhole)).wantProblem(t, 400, "ITEM_SCOPE_TOO_BROAD")
	equals.Check(t, []map[string]any{}, e.read(ofNothing, "/v1/items/asin-locales").Data)
	var narrowed contracts.AccountID = 99
	e.account(narrowed, 2, "[1]", "")
	if got := e.read(narrowed, "/v1/items/asin-locales").Data; len(got) != 0 { // VIS-02
		t.Errorf("%v", got)
	}
}
