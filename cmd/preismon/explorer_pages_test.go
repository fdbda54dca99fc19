package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/chromium"
)

// pagesPlan is what the browser is given.
type pagesPlan struct {
	Base      string    `json:"base"`
	Hosts     []string  `json:"hosts"` // prefixes of the URLs that it may request
	Login     string    `json:"login"`
	Password  string    `json:"password"`
	Forbidden [2]string `json:"forbidden"` // login and password of an account that may not read files
}

type savedFile struct{ Name, Text string }

// pagesSaid is what the pages of sites and of orders showed.
type pagesSaid struct {
	Sites struct {
		Rows            [][]string
		Status, Overdue string
		File            savedFile
	}
	Orders struct {
		Rows, Files [][]string
		Order       string
		File        savedFile
	}
	Downloads      []savedFile
	Tables         [][]savedFile
	Curl, CLI, MCP map[string]string
}

// explorerPages checks the pages of sites and of orders in a browser: they show
// what the API returns, and their commands do what they promise.
func (d *demoTest) explorerPages(t *testing.T) {
	account, forbidden, client := d.account(t, "anna"), d.account(t, "emil"), d.client(t, "anna")
	plan := pagesPlan{
		Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password,
		Forbidden: [2]string{forbidden.LoginIdentifier, forbidden.Password},
	}
	var said pagesSaid
	chromium.Run(t, "testdata/explorer/pages.mjs", plan, &said)
	if t.Failed() {
		return
	}
	said.compareSites(t, client)
	said.compareOrders(t, client)
	said.compareCommands(t, d, client.token)
	compareTables(t, said.Tables, "sites", "orders")
}

// records reads a file for spreadsheets as maps by column name.
func (f savedFile) records(t *testing.T) (all []map[string]string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(f.Text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("file %s: %v: %.300s", f.Name, err, f.Text)
	}
	for _, row := range rows[1:] {
		one := map[string]string{}
		for i, name := range rows[0] {
			one[name] = strings.TrimPrefix(row[i], "'")
		}
		all = append(all, one)
	}
	return all
}

// compareSites compares the page of sites with the quality of all orders,
// another way to the same numbers: captures go on meanwhile, but the pairs stay
// the same.
func (s pagesSaid) compareSites(t *testing.T, client *api) {
	t.Helper()
	var orders struct{ Data []struct{ OrderID string } }
	if _, body := client.get("/v1/orders", nil); json.Unmarshal(body, &orders) != nil {
		t.Fatalf("orders: %s", body)
	}
	pairs, answered := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, o := range orders.Data {
		var quality struct {
			Data []struct{ ItemID, Site, ReasonCode string }
		}
		if _, body := client.get("/v1/orders/"+o.OrderID+"/observation-quality", url.Values{"limit": {"1000"}}); json.Unmarshal(body, &quality) != nil {
			t.Fatalf("quality: %s", body)
		}
		for _, q := range quality.Data {
			if pairs[q.Site] == nil {
				pairs[q.Site], answered[q.Site] = map[string]bool{}, map[string]bool{}
			}
			pairs[q.Site][q.ItemID] = true
			if slices.Contains([]string{"PRICE_OBSERVED", "PRODUCT_UNAVAILABLE", "PRODUCT_NOT_FOUND"}, q.ReasonCode) {
				answered[q.Site][q.ItemID] = true
			}
		}
	}
	want, got := map[string]int{}, map[string]int{}
	for site := range pairs {
		want[site] = len(pairs[site])
	}
	overdue, all := 0, 0
	for _, r := range s.Sites.File.records(t) {
		n := map[string]int{}
		for name, value := range r {
			n[name], _ = strconv.Atoi(value) // the others are not numbers
		}
		site, answers := r["site"], n["priceObserved"]+n["productUnavailable"]+n["productNotFound"]
		// A pair or two may have had another outcome since the file was
		// written.
		if got[site] = n["pairs"]; max(answers-len(answered[site]), len(answered[site])-answers) > 2 {
			t.Errorf("%s: %d pairs were answered by the file, %d by the quality", site, answers, len(answered[site]))
		}
		if all += n["pairs"]; n["overdue"] > 0 {
			overdue++
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" || s.Sites.File.Name != "sites.csv" || len(s.Sites.Rows) != len(want) {
		t.Errorf("sites (-quality +file), %d lines: %s", len(s.Sites.Rows), diff)
	}
	if (overdue > 0) != strings.Contains(s.Sites.Overdue, fmt.Sprintf("overdue pairs: %d.", overdue)) || strings.Contains(s.Sites.Status+s.Sites.Overdue, "undefined") {
		t.Errorf("%d sites with overdue pairs: %q, %q", overdue, s.Sites.Overdue, s.Sites.Status)
	}
	if said := strings.ReplaceAll(s.Sites.Status, ",", ""); !strings.Contains(said, fmt.Sprintf("Of %d pairs ", all)) {
		t.Errorf("%d pairs: %q", all, s.Sites.Status)
	}
}

// compareOrders compares the page of orders, and the files that it fetched,
// with the API.
func (s pagesSaid) compareOrders(t *testing.T, client *api) {
	t.Helper()
	type order struct {
		OrderID, Name string
		Coverage      struct{ ConfiguredPairs int }
	}
	var orders struct{ Data []order }
	if _, body := client.get("/v1/orders", url.Values{"includeCoverage": {"true"}}); json.Unmarshal(body, &orders) != nil || len(orders.Data) < 2 {
		t.Fatalf("orders: %s", body)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, o := range orders.Data {
		want[o.OrderID] = fmt.Sprint(o.Name, " ", o.Coverage.ConfiguredPairs)
	}
	for _, r := range s.Orders.File.records(t) {
		got[r["orderId"]] = r["name"] + " " + r["configuredPairs"]
	}
	if diff := gocmp.Diff(want, got); diff != "" || len(s.Orders.Rows) != len(want) {
		t.Errorf("orders (-API +file), %d lines: %s", len(s.Orders.Rows), diff)
	}
	shown := s.Orders.Rows[0]
	if !strings.Contains(s.Orders.Order, "Order "+shown[0]) || strings.Contains(s.Orders.Order, "undefined") {
		t.Errorf("of the first order, %q: %q", shown, s.Orders.Order)
	}
	files := 0
	for _, kind := range []string{"exports", "imports"} {
		var history struct{ Data []struct{ Filename string } }
		if _, body := client.get("/v1/orders/"+shown[len(shown)-1]+"/"+kind+"/history", nil); json.Unmarshal(body, &history) != nil {
			t.Fatalf("history: %s", body)
		}
		files += len(history.Data)
	}
	if len(s.Orders.Files) != files || files == 0 || len(s.Downloads) != min(3, files) {
		t.Errorf("%d files on show, %d fetched, the API has %d", len(s.Orders.Files), len(s.Downloads), files)
	}
	for i, f := range s.Downloads {
		if f.Name != s.Orders.Files[i][0] || f.Text == "" {
			t.Errorf("file %d: %q, of %d bytes; its line: %q", i, f.Name, len(f.Text), s.Orders.Files[i])
		}
	}
}
