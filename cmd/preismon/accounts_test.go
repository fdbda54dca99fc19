package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
)

// changeAccounts: a colleague is added, granted, disabled and enabled again by
// commands that show the change first; nothing changes without a yes, and no
// login belongs to two mandates. "Our shop" was imported with the arguments
// imported; "Their shop" is now imported the same way.
func changeAccounts(t *testing.T, u *upProcess, imported []string) {
	const other = "something quite different"
	theirs := slices.Clone(imported)
	theirs[slices.Index(theirs, "Our shop")], theirs[slices.Index(theirs, "me")] = "Their shop", "them"
	out, errs, code := preismon(t, []string{"PREISMON_PASSWORD=" + other}, theirs...)
	says(t, out, errs, code, exitRejected)
	accounts := func(want int, args ...string) (string, string) {
		t.Helper()
		args = append(append([]string{"accounts"}, args...), "--data-dir", u.DataDir)
		if args[1] == "add" {
			out, errs, code = preismon(t, []string{"PREISMON_PASSWORD=" + other}, args...)
		} else {
			out, errs, code = inProcess(t, args...)
		}
		says(t, out, errs, code, want)
		return out, errs
	}
	add := []string{"add", "Colleague", "--mandate", "Our shop", "--sites", "alpha.example,beta.example", "--permissions", "sites,results"}
	_, errs = accounts(exitUsage, add...)
	contains(t, errs, "colleague", "alpha.example, beta.example", "yes: missing")
	out, errs, code = inProcess(t, append(append([]string{"accounts"}, add...), "--dry-run", "--data-dir", u.DataDir)...) // no password is requested
	says(t, out, errs, code, 0)
	contains(t, errs, "Nothing was changed")
	_, errs = accounts(exitFailed, "show", "colleague")
	contains(t, errs, "no account with the login")

	out, _ = accounts(0, append(add, "--yes")...)
	contains(t, out, "account colleague of mandate", "active; event ")
	c := u.client()
	c.t = t
	c = c.login("colleague", other)
	sites := func(want ...string) {
		t.Helper()
		equals.Slices(t, want, listAll(t, c, "/v1/sites", "site"), "sites")
	}
	sites("alpha.example", "beta.example")
	if status, body := c.get("/v1/orders", nil); status != http.StatusForbidden {
		t.Errorf("orders: %d %s", status, body)
	}
	for _, mandate := range []string{"Our shop", "Their shop"} {
		_, errs = accounts(exitFailed, "add", "colleague", "--mandate", mandate, "--yes")
		contains(t, errs, "belongs to account")
	}
	_, errs = accounts(exitFailed, "add", "another", "--mandate", "No shop", "--yes")
	contains(t, errs, `no mandate "No shop"`, `"Our shop", "Their shop"`)

	_, errs = accounts(exitUsage, "grant", "colleague", "--yes")
	contains(t, errs, "give at least one")
	_, errs = accounts(0, "grant", "colleague", "--sites", "gamma.example", "--yes")
	contains(t, errs, "gamma.example", "(was: alpha.example, beta.example)")
	c = c.login("colleague", other)
	sites("gamma.example")
	out, _ = accounts(0, "show", "colleague")
	contains(t, out, "gamma.example", "sites, results", "all of the mandate")
	if strings.Contains(out, "argon2") {
		t.Errorf("the hash is shown: %s", out)
	}

	accounts(0, "disable", "colleague", "--yes")
	_, errs = accounts(exitFailed, "disable", "colleague", "--yes")
	contains(t, errs, "already disabled")
	_, errs, code = inProcess(t, "login", "--url", u.URL, "--login", "colleague", "--password", other)
	says(t, "", errs, code, exitFailed)
	_, errs = accounts(exitFailed, "add", "colleague", "--mandate", "Our shop", "--yes")
	contains(t, errs, "disable --undo")
	accounts(0, "disable", "--undo", "colleague", "--yes")
	c = c.login("colleague", other)
	sites("gamma.example")
}

// TestFormOf: the format follows from the file name's extension unless a flag
// states it; the two must not contradict each other.
func TestFormOf(t *testing.T) {
	for _, c := range []struct{ format, name, want string }{
		{"auto", "-", "ndjson"},
		{"auto", "x.parquet", "parquet"},
		{"auto", "x.CSV", "csv"},
		{"auto", "x.arrows", "arrow"},
		{"auto", "x", "ndjson"},
		{"auto", "x.xlsx", ""},
		{"auto", "x.dat", "ndjson"},
		{"csv", "x.dat", "csv"},
		{"csv", "x.csv", "csv"},
		{"csv", "x.parquet", ""},
		{"ndjson", "x.csv", ""},
	} {
		if got, err := formOf(c.format, c.name); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %s: %q %v, want %q", c.format, c.name, got, err, c.want)
		}
	}
	out, errs, code := inProcess(t, "export", "--format", "csv", "-o", filepath.Join(t.TempDir(), "x.parquet"))
	says(t, out, errs, code, exitUsage, "contradicts")
	address := "http://" + freeAddress(t)
	out, errs, code = inProcess(t, "login", "--url", address, "--login", "me", "--password", "correct horse battery staple")
	says(t, out, errs, code, exitFailed, "nothing answers at "+address, "is it running")
	sentence(t, errs)
}
