package main

import (
	"fmt"
	"slices"
	"testing"

	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/equals"
)

// requestBudgets are the requests that each page of the explorer may make to
// the service: one read.
var requestBudgets = []struct {
	page, hash, view, what string
	reads                  []string
}{
	{"start", "#view=overview&zone=UTC", "overview", "#seen tbody tr", []string{"ext/v1/overview"}},
	{"product", "#view=history&items=%s&last=720h&zone=UTC", "history", "#pairs tbody tr", []string{"ext/v1/items/{id}/summary"}},
	{"assortment", "#view=assortment&last=168h&zone=UTC", "assortment", "#products tbody tr", []string{"ext/v1/statistics"}},
	{"latest prices of a site", "#view=latest&site=%s&zone=UTC", "latest", "#offers tbody tr", []string{"v1/results"}},
	{"sites", "#view=sites&zone=UTC", "sites", "#fresh tbody tr", []string{"ext/v1/sites/status"}},
	{"orders", "#view=orders&zone=UTC", "orders", "#files tbody tr", []string{"ext/v1/orders/status"}},
	{"stream", "#view=stream&zone=UTC", "stream", ".same code", nil},
}

// listsOfForm are read once after a login: the values to choose from.
var listsOfForm = []string{"v1/items", "v1/sites"}

// explorerRequests counts the requests of each page: no more than its budget,
// none twice, and those of the form only once per tab.
func (d *demoTest) explorerRequests(t *testing.T) {
	type visit struct {
		Hash string `json:"hash"`
		View string `json:"view"`
		What string `json:"what"` // appears when the page is complete
	}
	account, item := d.account(t, "anna"), notMonitored(t, d.client(t, "anna"))[0]
	plan := struct {
		explorerPlan
		Pages []visit `json:"pages"`
	}{explorerPlan: explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password}}
	for _, b := range requestBudgets {
		hash := b.hash
		switch b.view {
		case "history":
			hash = fmt.Sprintf(hash, item)
		case "latest":
			hash = fmt.Sprintf(hash, "demo-markt-de.example")
		}
		plan.Pages = append(plan.Pages, visit{hash, b.view, b.what})
	}
	var said struct{ Pages, First [][]string }
	chromium.Run(t, "testdata/explorer/requests.mjs", plan, &said)
	if t.Failed() {
		return
	}
	for i, b := range requestBudgets {
		equals.Slices(t, said.Pages[i], b.reads, "%s asks", b.page)
		first := slices.Sorted(slices.Values(slices.Concat(b.reads, listsOfForm)))
		equals.Slices(t, said.First[i], first, "%s, where somebody begins with it, asks", b.page)
		t.Logf("requests page=%q own=%d of %d, with the lists of the form %d", b.page, len(said.Pages[i]), len(b.reads), len(said.First[i]))
	}
}
