package main

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// changeCatalogue: orders and sites are listed, added, changed and paused by
// commands that show the change first; what accounts see follows, and nothing
// changes without a yes. The login "me" of "Our shop" must exist.
func changeCatalogue(t *testing.T, u *upProcess, password string) {
	c := u.client()
	c.t = t
	c = c.login("me", password)
	catalogue := func(want int, args ...string) (string, string) {
		t.Helper()
		out, errs, code := inProcess(t, append(append([]string{"catalogue"}, args...), "--data-dir", u.DataDir)...)
		says(t, out, errs, code, want)
		return out, errs
	}
	before := listAll(t, c, "/v1/sites", "site")
	if len(before) < 3 {
		t.Fatalf("sites: %v", before)
	}

	out, _ := catalogue(0, "orders", "list")
	contains(t, out, "Imported: "+before[0], "active")
	id := regexp.MustCompile(`(?m)^(\d+)\s+Imported: ` + regexp.QuoteMeta(before[0])).FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	_, errs := catalogue(exitUsage, "orders", "pause", id[1])
	contains(t, errs, "paused", "(was: active)", "yes: missing")
	_, errs = catalogue(0, "orders", "pause", id[1], "--dry-run")
	contains(t, errs, "Nothing was changed")
	if got := listAll(t, c, "/v1/sites", "site"); !slices.Equal(got, before) {
		t.Errorf("nobody said yes, and the sites are %v", got)
	}
	out, _ = catalogue(0, "orders", "pause", id[1], "--yes")
	contains(t, out, "order "+id[1], "paused; event ")
	if got := listAll(t, c, "/v1/sites", "site"); slices.Contains(got, before[0]) || len(got) != len(before)-1 {
		t.Errorf("%s is paused, and the sites are %v", before[0], got)
	}
	_, errs = catalogue(exitFailed, "orders", "pause", id[1], "--yes")
	contains(t, errs, "already paused")
	catalogue(0, "orders", "pause", "--undo", id[1], "--yes")
	must.Eventually(t, time.Minute, "the sites of the resumed order", func() bool { // its rows are being deleted, see the help of pause
		return slices.Equal(listAll(t, c, "/v1/sites", "site"), before)
	})

	_, errs = catalogue(exitUsage, "sites", "add", "new.example", "--country", "germany", "--yes")
	contains(t, errs, "countryCode", "currencyCode")
	_, errs = catalogue(exitFailed, "sites", "add", before[0], "--country", "DE", "--currency", "EUR", "--yes")
	contains(t, errs, "already exists")
	catalogue(0, "sites", "add", "new.example", "--country", "DE", "--currency", "EUR", "--yes")
	_, errs = catalogue(0, "sites", "change", "new.example", "--name", "The new one", "--type", "marketplace", "--yes")
	contains(t, errs, "The new one", "(was: new.example)", "(was: shop)")
	_, errs = catalogue(exitFailed, "sites", "change", "new.example", "--name", "The new one", "--yes")
	contains(t, errs, "nothing would change")
	out, _ = catalogue(0, "sites", "list")
	contains(t, out, "new.example", "The new one", before[0])
	_, errs = catalogue(exitFailed, "sites", "show", "nowhere.example")
	contains(t, errs, "no site", "sites list")

	item := listAll(t, c, "/v1/items", "itemId")[0]
	ids := file(t, "ids.txt", item+"\n")
	_, errs = catalogue(exitUsage, "orders", "add", "Of one", "--mandate", "Our shop", "--add-sites", "nowhere.example", "--add-items", "@"+ids+",18", "--yes")
	contains(t, errs, "add-sites: nowhere.example: no site", "add-items: 18: no item")
	_, errs = catalogue(exitFailed, "orders", "add", "Of one", "--mandate", "No shop", "--yes")
	contains(t, errs, `no mandate "No shop"`)
	out, errs = catalogue(0, "orders", "add", "Of one", "--mandate", "Our shop", "--alias", "one", "--every", "60", "--add-sites", "new.example", "--add-items", "@"+ids, "--yes")
	contains(t, errs, "Of one", "every 60 minutes", "new.example")
	added := regexp.MustCompile(`order (\d+) of mandate`).FindStringSubmatch(out)
	if added == nil {
		t.Fatal(out)
	}
	if got := listAll(t, c, "/v1/sites", "site"); !slices.Contains(got, "new.example") {
		t.Errorf("the new order is not seen: %v", got)
	}
	if status, body := c.get("/v1/orders", url.Values{"alias": {"one"}}); status != http.StatusOK || !strings.Contains(string(body), added[1]) {
		t.Errorf("%d %s", status, body)
	}
	_, errs = catalogue(exitFailed, "orders", "change", added[1], "--name", "Of one", "--yes")
	contains(t, errs, "nothing would change")
	_, errs = catalogue(0, "orders", "change", added[1], "--remove-sites", "new.example", "--add-sites", before[1], "--yes")
	contains(t, errs, before[1], "(was: new.example)")
	if got := listAll(t, c, "/v1/sites", "site"); !slices.Equal(got, before) {
		t.Errorf("the site was removed, and the sites are %v", got)
	}
	out, _ = catalogue(0, "orders", "show", added[1])
	contains(t, out, "Of one", "pairs", before[1])
	_, errs = catalogue(exitUsage, "orders", "show", "mine")
	contains(t, errs, "is not an id")
	_, errs = catalogue(exitFailed, "orders", "show", "7")
	contains(t, errs, "no order 7", "orders list")
}

// TestChangedSet: what is added comes last and only once; what is removed is
// gone, even if it is added at the same time.
func TestChangedSet(t *testing.T) {
	for _, c := range []struct{ set, add, remove, want []int }{
		{[]int{1, 2}, []int{3}, nil, []int{1, 2, 3}},
		{[]int{1, 2}, []int{2, 3, 3}, []int{1}, []int{2, 3}},
		{[]int{1}, []int{2}, []int{1, 2}, nil},
		{nil, nil, []int{1}, nil},
	} {
		equals.Slices(t, c.want, changedSet(c.set, c.add, c.remove), "%v and %v without %v", c.set, c.add, c.remove)
	}
}
