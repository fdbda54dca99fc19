package rest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver"
)

// domain returns what the database holds: for each table its number of rows and
// a sum over them that does not depend on their order.
func (l *live) domain(t *testing.T) map[string]string {
	t.Helper()
	var tables []string
	rows, err := l.conn.Query(context.Background(), "SELECT name FROM system.tables WHERE database = currentDatabase()")
	must(t, err)
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	must(t, rows.Close())
	must(t, rows.Err())
	all := map[string]string{}
	for _, table := range tables {
		var count, sum uint64
		must(t, l.conn.QueryRow(context.Background(), "SELECT count(), sum(cityHash64(toString(tuple(*)))) FROM "+table).Scan(&count, &sum))
		all[table] = fmt.Sprintf("%d rows, %x", count, sum)
	}
	return all
}

// TestNoCallChangesAnything requests from every route what it has, what it does
// not have, and with every method, logs in and out, and compares the contents
// of the tables before and after: GEN-07b. What is counted for the calls
// (requests, attempts, revoked tokens) is stored elsewhere: GEN-07c.
func TestNoCallChangesAnything(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	before := l.domain(t)
	if len(before) < 15 || !strings.HasPrefix(before["observations"], "12 rows") {
		t.Fatalf("the tables are not what this test is about: %v", before)
	}
	asked := 0
	for route, v := range matrix {
		method, path, _ := strings.Cut(route, " ")
		for n, name := range append([]string{""}, v.names...) {
			for i, w := range []who{own, ours, nobodys} {
				if every := testserver.Often(3, 1); n%every != i%every || n > 0 && name == "" || v.dear && n > testserver.Often(1, 100) {
					continue
				}
				account := []contracts.AccountID{whole, partSites, stranger}[i]
				methods := []string{method, "POST", "PUT", "PATCH", "DELETE"}
				if n > 0 { // what is requested makes no difference then: TestAllMethods
					methods = methods[:1]
				}
				for _, other := range methods {
					a := l.do(l.request(other, w.fill(path, name), l.token(account), nil))
					if a.StatusCode == 200 {
						asked++
					}
					if other != method && a.StatusCode < 400 {
						t.Errorf("%s %s: %d", other, path, a.StatusCode)
					}
				}
			}
		}
	}
	l.login("reader@example.com", "wrong")
	l.login("nobody", password)
	if a := l.login("reader@example.com", password); a.StatusCode != 200 {
		t.Fatalf("login: %d %s", a.StatusCode, a.body)
	}
	l.logout(l.token(whole))
	if asked < 50 {
		t.Errorf("only %d calls were answered", asked)
	}
	after := l.domain(t)
	for table, held := range before {
		if after[table] != held {
			t.Errorf("%s: %s before, %s after", table, held, after[table])
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d tables before, %d after", len(before), len(after))
	}
}
