package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/must"
)

// explorerPlan is what the browser is given.
type explorerPlan struct {
	Base     string   `json:"base"`
	Hosts    []string `json:"hosts"` // prefixes of the URLs that it may request
	Login    string   `json:"login"`
	Password string   `json:"password"`
	Searches []string `json:"searches"` // each finds one product
	Items    []string `json:"items"`
	From     string   `json:"from"` // local times of Europe/Berlin
	To       string   `json:"to"`
	Rows     int      `json:"rows"` // of the products in that window
	Site     string   `json:"site"` // one with many

	Elsewhere [2]string `json:"elsewhere"` // a product and a site where it is not monitored
}

// explorerSaid is what the page showed.
type explorerSaid struct {
	Chart, Many  chartSaid
	Pairs        [][]string
	Moved, Stand struct {
		Summary string
		Rows    [][]string
		Lists   []string // of the moves: name and count
	}
	Sites      [][]string
	Assortment struct {
		Lines  [][]string
		Drawn  []int // points of the trend, line by line
		Status string
		File   struct{ Name, Text string }
	}
	Markets, Boxes [][]string    // of both products
	Summaries      []itemSummary // of both products, as the page received them
	Offers         [][]string
	Positions      [][]string // of an own price of 100
	Placed         struct {
		Told      []json.RawMessage
		Markets   [][]string
		Curl, CLI string
		MCP       []string
	}
	Curl, CLI, MCP map[string]string
	Files          map[string][]savedFile
	Tables         [][]savedFile // of the start page and of the assortment
	Stream         struct {
		Rows, First, Rate string
		Lines             []string
	}
	Broken, Stopped string
}

type chartSaid struct {
	Rows, Series, BuyBox, Prime, Width, Height, Painted, Lanes, LanesHeight int
	Points, Gaps                                                            []int
	Counts                                                                  map[string]int
	MS                                                                      float64
}

// explorerRow is what the test checks in a row of the API.
type explorerRow struct {
	ItemID, Site, CapturedAt, Availability string
	Merchant, CurrencyCode                 *string
	Price                                  *float64
	IsBuyBox, IsPrime                      bool
}

// explorer clicks through the page in a browser: everything that it shows is
// what the API returns, and the commands that it offers do what they promise.
func (d *demoTest) explorer(t *testing.T) {
	berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	account := d.account(t, "anna")
	client := d.client(t, "anna")
	to := time.Now().Add(-d.market.MaxDelay()).Truncate(time.Minute) // all late observations are in
	from := to.Add(-10 * 24 * time.Hour)
	window := url.Values{"capturedFrom": {from.UTC().Format(time.RFC3339)}, "capturedTo": {to.UTC().Format(time.RFC3339)}, "includeExportFields": {"true"}}

	plan := explorerPlan{
		Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password,
		From: from.In(berlin).Format("2006-01-02T15:04"), To: to.In(berlin).Format("2006-01-02T15:04"), Site: "demo-markt-de.example",
	}
	rows := d.chooseProducts(t, client, &plan, window)
	plan.Rows = len(rows)

	var said explorerSaid
	chromium.Run(t, "testdata/explorer/browser.mjs", plan, &said)
	if t.Failed() {
		return
	}
	said.compareChart(t, rows)
	said.comparePairs(t, client, plan.Items, rows)
	said.compareMarkets(t, client, rows)
	said.compareOverview(t, client)
	said.compareAssortment(t, client)
	said.comparePosition(t)
	said.comparePlaced(t, d, client.token)
	said.compareCommands(t, d, client.token)
	said.compareStart(t, d, client.token)
	said.compareResources(t, d, client.token)
	said.compareFiles(t, rows)
	compareTables(t, said.Tables, "moved", "undercut", "sites", "assortment")
	if rows, err := strconv.Atoi(strings.ReplaceAll(said.Stream.Rows, ",", "")); err != nil || rows == 0 || !strings.HasSuffix(said.Stream.First, " ms") || !json.Valid([]byte(said.Stream.Lines[0])) || len(said.Stream.Lines) != min(rows, 200) {
		t.Errorf("stream: %+v", said.Stream)
	}
	if !strings.HasPrefix(said.Broken, "Unvollständig:") || said.Stopped != "stopped" {
		t.Errorf("a broken stream is shown as %q, a stopped one as %q", said.Broken, said.Stopped)
	}
	t.Logf("100,000 points in %.0f ms", said.Many.MS)
	if said.Many.Rows != 100000 || said.Many.Series != 5 || sum(said.Many.Points) != 100000 || said.Many.MS > 30000 {
		t.Errorf("100,000 points: %+v", said.Many)
	}
}

// chooseProducts plans the product with the most unavailable captures at the
// site and another one with the most buy boxes, and returns their rows.
func (d *demoTest) chooseProducts(t *testing.T, client *api, plan *explorerPlan, window url.Values) []explorerRow {
	read := func(selector, value string) (rows []explorerRow) {
		params := maps.Clone(window)
		params.Set(selector, value)
		if _, _, err := client.stream("/v1/results/stream", params, func(line []byte) error {
			var r explorerRow
			err := json.Unmarshal(line, &r)
			rows = append(rows, r)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	unavailable, boxes := map[string]int{}, map[string]int{}
	for _, r := range read("site", plan.Site) {
		if r.Availability == "UNAVAILABLE" {
			unavailable[r.ItemID]++
		}
		if r.IsBuyBox {
			boxes[r.ItemID]++
		}
	}
	most := func(of map[string]int) string {
		return slices.MaxFunc(slices.Sorted(maps.Keys(of)), func(a, b string) int { return cmp.Compare(of[a], of[b]) })
	}
	first := most(unavailable)
	delete(boxes, first)
	plan.Items = []string{first, most(boxes)}
	var all []explorerRow
	for _, id := range plan.Items {
		var page struct{ Data []struct{ EAN, ASIN string } }
		if _, body := client.get("/v1/items", url.Values{"itemId": {id}}); json.Unmarshal(body, &page) != nil || len(page.Data) != 1 {
			t.Fatalf("item %s: %s", id, body)
		}
		plan.Searches = append(plan.Searches, strings.TrimSpace(page.Data[0].EAN+" "+page.Data[0].ASIN))
		all = append(all, read("itemId", id)...)
	}
	plan.Elsewhere = notMonitored(t, client)
	return all
}

// notMonitored returns a product and a site that the caller sees, but not
// together.
func notMonitored(t *testing.T, client *api) (pair [2]string) {
	t.Helper()
	var sites struct{ Data []struct{ Site string } }
	var items struct{ Data []struct{ ItemID string } }
	if _, body := client.get("/v1/sites", nil); json.Unmarshal(body, &sites) != nil {
		t.Fatalf("sites: %s", body)
	}
	if _, body := client.get("/v1/items", url.Values{"limit": {"50"}}); json.Unmarshal(body, &items) != nil {
		t.Fatalf("items: %s", body)
	}
	for _, i := range items.Data {
		if monitored(t, client, url.Values{"itemId": {i.ItemID}}) == len(sites.Data) {
			continue
		}
		for _, s := range sites.Data {
			if monitored(t, client, url.Values{"itemId": {i.ItemID}, "site": {s.Site}}) == 0 {
				return [2]string{i.ItemID, s.Site}
			}
		}
	}
	t.Fatal("each product is monitored at each site")
	return pair
}

// monitored returns the number of pairs that the selectors name.
func monitored(t *testing.T, client *api, selectors url.Values) int {
	t.Helper()
	params := maps.Clone(selectors)
	params.Set("path", "/v1/results")
	var answer struct{ Pairs *int }
	if _, body := client.get("/ext/v1/explain", params); json.Unmarshal(body, &answer) != nil || answer.Pairs == nil {
		t.Fatalf("explain %v: %s", selectors, body)
	}
	return *answer.Pairs
}

// compareChart compares what was drawn with the rows of the API.
func (s explorerSaid) compareChart(t *testing.T, rows []explorerRow) {
	t.Helper()
	type capture struct{ item, site, at string }
	outcome := map[capture]string{}
	lines := map[[4]string]map[string]bool{}
	for _, r := range rows {
		c := capture{r.ItemID, r.Site, r.CapturedAt}
		switch {
		case r.Price != nil && r.Availability == "AVAILABLE":
			outcome[c] = "price"
			merchant := ""
			if r.Merchant != nil {
				merchant = *r.Merchant
			}
			line := [4]string{r.ItemID, r.Site, *r.CurrencyCode, merchant}
			if lines[line] == nil {
				lines[line] = map[string]bool{}
			}
			lines[line][r.CapturedAt] = true
		case outcome[c] == "price":
		case r.Availability == "UNAVAILABLE":
			outcome[c] = "unavailable"
		case outcome[c] == "":
			outcome[c] = "unknown"
		}
	}
	counts := map[string]int{"price": 0, "unavailable": 0, "unknown": 0}
	for _, o := range outcome {
		counts[o]++
	}
	s.Chart.Counts["unknown"] += s.Chart.Counts["restricted"] // which rows do not say
	delete(s.Chart.Counts, "restricted")
	if diff := gocmp.Diff(counts, s.Chart.Counts); diff != "" || counts["unavailable"] == 0 || counts["price"] == 0 {
		t.Errorf("outcomes (-API +page): %s", diff)
	}
	var points []int
	for _, at := range lines {
		points = append(points, len(at))
	}
	slices.SortFunc(points, func(a, b int) int { return b - a })
	if len(s.Chart.Points) != min(16, len(points)) {
		t.Errorf("%d lines are drawn of %d", len(s.Chart.Points), len(points))
	}
	for _, n := range s.Chart.Points { // those drawn are chosen by price, not by capture
		i := slices.Index(points, n)
		if i < 0 {
			t.Fatalf("no line has %d captures, of %v: %v", n, points, s.Chart.Points)
		}
		points = slices.Delete(points, i, i+1)
	}
	if s.Chart.BuyBox == 0 || s.Chart.Prime == 0 || sum(s.Chart.Gaps) == 0 {
		t.Errorf("no buy box, prime or gap: %+v", s.Chart)
	}
	if s.Chart.Width < 600 || s.Chart.Height < 300 || s.Chart.Painted < 5000 || s.Chart.Lanes < 5000 {
		t.Errorf("too little is painted: %+v", s.Chart)
	}
}

// comparePairs checks that exactly the monitored pairs are shown, and that
// those without a row in the window are marked as such.
func (s explorerSaid) comparePairs(t *testing.T, client *api, items []string, rows []explorerRow) {
	t.Helper()
	all, observed := 0, map[[2]string]bool{}
	for _, id := range items {
		all += monitored(t, client, url.Values{"itemId": {id}})
	}
	for _, r := range rows {
		observed[[2]string{r.ItemID, r.Site}] = true
	}
	none := 0
	for _, p := range s.Pairs {
		if p[6] != "" {
			none++
		}
	}
	if len(s.Pairs) != all || none != all-len(observed) {
		t.Errorf("%d pairs are on show, %d of them without a result; %d are monitored, of %d there are rows", len(s.Pairs), none, all, len(observed))
	}
}

// comparePosition recounts the cheaper offers of the first market in euros, in
// the table of the newest prices.
func (s explorerSaid) comparePosition(t *testing.T) {
	t.Helper()
	at := slices.IndexFunc(s.Positions, func(p []string) bool { return p[2] == "€100.00" })
	if at < 0 {
		t.Fatalf("positions: %v", s.Positions)
	}
	position := s.Positions[at]
	cheaper, others := 0, 0
	for _, o := range s.Offers {
		product, amount, site := o[0], o[1], o[4]
		price, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(amount, "€"), ",", ""), 64)
		if product != position[0] || !strings.HasPrefix(amount, "€") || err != nil || strings.Contains(site, "France") != strings.HasPrefix(position[1], "FR") {
			continue
		}
		if price < 100 {
			cheaper++
		} else {
			others++
		}
	}
	count := func(cell string) int { n, _ := strconv.Atoi(cell); return n }
	if count(position[3]) != cheaper || count(position[4])+count(position[5]) != others || cheaper+others == 0 {
		t.Errorf("position %v, in the table %d are cheaper and %d are not", position, cheaper, others)
	}
}

func sum(numbers []int) (n int) {
	for _, x := range numbers {
		n += x
	}
	return n
}
