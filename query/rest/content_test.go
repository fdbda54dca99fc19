package rest_test

import (
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/query"
)

// VIS-01b, VIS-05: a file may hold all of its order, so its content is only for
// callers that may see each item and each site of the order, for whatever
// reason they may; the lists of files are for every caller that sees the order.
func TestContentNeedsTheWholeOrder(t *testing.T) {
	t.Parallel()
	w := newFilesWorld(t)
	const (
		everySite contracts.AccountID = 11
		moreSites contracts.AccountID = 12
		oneSite   contracts.AccountID = 13
		otherSite contracts.AccountID = 14
	)
	const all = "['sites','items','orders','results','files']"
	for _, account := range []string{
		"11, 1, 'u11', 'h', false, false, " + all + ", true, [], false, ['a.example', 'b.example'], 1",
		"12, 1, 'u12', 'h', false, false, " + all + ", true, [], false, ['a.example', 'b.example', 'c.example'], 1",
		"13, 1, 'u13', 'h', false, false, " + all + ", true, [], false, ['a.example'], 1",
		"14, 1, 'u14', 'h', false, false, " + all + ", true, [], false, ['c.example'], 1",
	} {
		w.exec("INSERT INTO accounts VALUES (" + account + ")")
	}
	holds := func(order contracts.OrderID, active bool, items, sites string, version int) {
		w.exec("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, items, sites, version) VALUES (1, ?, 'o', 'Order', ?, now64(3), "+items+", "+sites+", ?)",
			uint64(order), active, version)
	}
	scope := func(version int, items, sites string) {
		w.exec("INSERT INTO scope_pairs SELECT 1, ?, item, site, [toUInt64(101)] FROM (SELECT toUInt64(arrayJoin("+items+")) AS item, arrayJoin("+sites+") AS site)", version)
		w.exec("INSERT INTO scopes VALUES (1, ?, 1, 1)", version)
	}
	holds(orderA, true, "[1, 2, 3, 3]", "['a.example', 'b.example']", 2)
	for _, d := range []query.Direction{query.Exports, query.Imports} {
		w.job(d, orderA, 11, "f")
		w.publish(d, orderA, 11, "2026-03-01T05:00:00Z", "f", "f.csv", []byte("all of it"))
	}
	states := 0
	wants := func(what string, may map[contracts.AccountID]bool) {
		t.Helper()
		direction := []string{"exports", "imports"}[states%2]
		states++
		for account, may := range may {
			a := w.get(path(orderA, direction+"/history/download"), w.token(account))
			if !may {
				a.wantProblem(t, 403, "AUTH_FORBIDDEN")
			} else if a.StatusCode != 200 || string(a.body) != "all of it" {
				t.Errorf("%s: account %s, %s: %d %s", what, account, direction, a.StatusCode, a.body)
			}
		}
	}
	scope(1, "[1, 2, 3]", "['a.example', 'b.example']")
	wants("all of the order", map[contracts.AccountID]bool{reader: true, oneOrder: true, everySite: true, moreSites: true, oneSite: false, otherSite: false})
	scope(2, "[1, 2]", "['a.example', 'b.example']")
	wants("a package that ends before its last item", map[contracts.AccountID]bool{reader: false, oneOrder: false, everySite: false})
	scope(3, "[1, 2, 3, 4]", "['a.example', 'b.example', 'c.example']")
	wants("a larger package", map[contracts.AccountID]bool{reader: true, oneOrder: true, everySite: true, oneSite: false})
	holds(orderA, true, "[1, 2, 3]", "['a.example', 'b.example', 'd.example']", 3)
	wants("an order that got a site", map[contracts.AccountID]bool{reader: false, everySite: false})
	holds(orderA, false, "[1, 4]", "['c.example']", 4)
	wants("an order that is paused, but seen by another", map[contracts.AccountID]bool{reader: true, everySite: false, moreSites: true})
	holds(orderA, false, "[1, 5]", "['c.example']", 5)
	wants("an order that is paused, with an item of nobody", map[contracts.AccountID]bool{reader: false, moreSites: false})
	for _, route := range bothDirections() {
		if strings.HasSuffix(route, "download") {
			continue
		}
		if a := w.get(path(orderA, route), w.token(moreSites)); a.StatusCode != 200 || !strings.Contains(string(a.body), `"f"`) {
			t.Errorf("%s: %d %s", route, a.StatusCode, a.body)
		}
	}
}
