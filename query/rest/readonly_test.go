package rest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// domain returns what the database holds: for each table its number of rows and
// a sum over them that does not depend on their order.
func (l *live) domain(t *testing.T) map[string]string {
	t.Helper()
	var tables []string
	rows := must.Get(l.conn.Query(context.Background(), "SELECT name FROM system.tables WHERE database = currentDatabase()"))(t)
	for rows.Next() {
		var name string
		must.Do(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	must.Do(t, rows.Close())
	must.Do(t, rows.Err())
	all := map[string]string{}
	for _, table := range tables {
		var count, sum uint64
		must.Do(t, l.conn.QueryRow(context.Background(), "SELECT count(), sum(cityHash64(toString(tuple(*)))) FROM "+table).Scan(&count, &sum))
		all[table] = fmt.Sprintf("%d rows, %x", count, sum)
	}
	return all
}

// unchanged compares what the database holds with what it held before.
func (l *live) unchanged(t *testing.T, before map[string]string) {
	t.Helper()
	if len(before) < 15 || !strings.HasPrefix(before["observations"], "12 rows") {
		t.Fatalf("the tables are not what this test is about: %v", before)
	}
	equals.Checkf(t, before, l.domain(t), "the tables before and after")
}

// TestNoCallChangesAnything requests every route with every method, logs in and
// out, and compares the contents of the tables before and after; whatever can
// be named, TestVisibilityMatrix requests: GEN-07b. What is counted for the
// calls (requests, attempts, revoked tokens) is stored elsewhere: GEN-07c.
func TestNoCallChangesAnything(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	before := l.domain(t)
	answered := 0
	for route := range matrix {
		method, path, _ := strings.Cut(route, " ")
		for _, other := range []string{method, "POST", "PUT", "PATCH", "DELETE"} {
			a := l.do(l.request(other, own.fill(path, ""), l.token(whole), nil))
			if a.StatusCode == 200 {
				answered++
			}
			if other != method && a.StatusCode < 400 {
				t.Errorf("%s %s: %d", other, path, a.StatusCode)
			}
		}
	}
	if answered < 15 {
		t.Errorf("only %d calls were answered", answered)
	}
	l.login("reader@example.com", "wrong")
	l.login("nobody", password)
	l.login("reader@example.com", password).want(t, 200)
	l.logout(l.token(whole))
	l.unchanged(t, before)
}
