package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

const (
	ofOrder101 contracts.AccountID = iota + 11 // narrowed to an order
	ofShopB                                    // narrowed to a site
	ofNothing
	ofWhole
	ofOther
)

// newOrders is an estate with two mandates: 1 has order 101, which shows each
// reason code, order 102 of an older system, and order 103, which is not
// active; 2 has order 201.
func newOrders(t testing.TB) *live {
	e := newEstate(t)
	e.account(ofWhole, 1, "", "")
	e.account(ofOrder101, 1, "[101]", "")
	e.account(ofShopB, 1, "", "['shop-b']")
	e.exec("INSERT INTO accounts VALUES (?, 1, 'none', 'h', false, false, ['orders', 'files'], false, [], false, [], 1)", uint64(ofNothing))
	e.account(ofOther, 2, "", "")
	e.exec(`INSERT INTO orders (mandate, order_id, alias, name, active, created_at, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships, version) VALUES
		(1, 101, 'main', 'Main <&> "x"', true, '2026-01-15 08:00:00.250', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00',
			[('shop-a', 24, 11, 11), ('shop-b', 24, 0, 0)], false, [], 1),
		(1, 102, '', 'Legacy', true, '2026-02-15 08:00:00', 0, NULL, NULL, [('shop-a', 4, 2, 5)], true, [(1, 'shop-a'), (2, 'shop-a;shop-b'), (3, 'shop-b')], 1),
		(1, 103, 'ended', 'Ended', false, '2024-02-15 08:00:00', 1440, '2024-12-24 08:00:00', NULL, [('shop-a', 1, 1, 0)], false, [], 1),
		(2, 201, 'main', 'Theirs', true, '2026-02-15 08:00:00', 0, NULL, NULL, [], false, [], 1)`)
	e.scope(1, 7, `SELECT * FROM VALUES('item UInt64, site String, orders Array(UInt64)',
		(1, 'shop-a', [101, 102]), (2, 'shop-a', [101, 102]), (3, 'shop-a', [101, 102]), (4, 'shop-a', [101, 102]), (5, 'shop-a', [101]), (6, 'shop-a', [101]), (7, 'shop-a', [101]),
		(1, 'shop-b', [101]), (2, 'shop-b', [101]))`)
	e.scope(2, 7, `SELECT * FROM VALUES('item UInt64, site String, orders Array(UInt64)', (1, 'shop-a', [201]), (9, 'shop-c', [201]))`)
	for item, outcome := range []string{"", "priceObserved", "unavailable", "productNotFound", "accessRestricted", "siteUnavailable", "unknown"} {
		if outcome != "" {
			e.captured(item, "shop-a", outcome, noon.Add(-time.Duration(item)*time.Minute))
		}
	}
	e.captured(1, "shop-b", "priceObserved", noon.Add(-30*time.Hour)) // too old by a day and five hours
	e.captured(9, "shop-c", "priceObserved", noon)
	e.exec("INSERT INTO sites SELECT arrayJoin(['shop-a', 'shop-b', 'shop-c', 'shop-d']), 'A shop', 'shop', 'DE', 'EUR', 'Operator', false, false, 1")
	return e
}

// ordersWorld is read-only.
var ordersWorld = testserver.Shared[*live]{Make: newOrders}

const order101 = `{"orderId":"101","alias":"main","name":"Main <&> \"x\"","active":true,"createdAt":"2026-01-15T08:00:00.250Z"`

func TestOrders(t *testing.T) {
	t.Parallel()
	e := ordersWorld.Get(t).of(t)
	want := `{"data":[` + order101 + `},{"orderId":"102","alias":null,"name":"Legacy","active":true,"createdAt":"2026-02-15T08:00:00.000Z"},` +
		`{"orderId":"103","alias":"ended","name":"Ended","active":false,"createdAt":"2024-02-15T08:00:00.000Z"}],"paging":{"limit":100,"returned":3},"query":{}}`
	if got := string(e.get("/v1/orders", e.token(ofWhole)).body); got != want { // ORD-K1, QUAL-01c
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for account, want := range map[contracts.AccountID][]string{ // VIS-01a, VIS-05
		ofWhole: {"101", "102", "103"}, ofOrder101: {"101"}, ofShopB: {"101", "102", "103"}, ofNothing: nil, ofOther: {"201"},
	} {
		equals.Checkf(t, want, keys(e.read(account, "/v1/orders"), "orderId"), "account %d", account)
	}
	for args, want := range map[string][]string{ // ORD-00a, VIS-02, VIS-03
		"orderId=102": {"102"}, "alias=main": {"101"}, "alias=ended": {"103"}, "orderId=101&alias=ended": nil,
		"orderId=201": nil, "orderId=999": nil, "alias=nobody": nil, "includeMonitoring=false&includeCoverage=false": {"101", "102", "103"},
	} {
		equals.Checkf(t, want, keys(e.read(ofWhole, "/v1/orders?"+args), "orderId"), "%s", args)
	}
	var walked []string // CUR-02
	for _, o := range e.walk(ofWhole, "/v1/orders?limit=1&includeCoverage=true") {
		walked = append(walked, o["orderId"].(string))
	}
	equals.Check(t, []string{"101", "102", "103"}, walked)
	// A summary is there if it is requested, and no other one is: ORD-K1,
	// QUAL-01c.
	for args, want := range map[string][]string{
		"": {}, "?includeMonitoring=true": {"monitoring"}, "?includeCoverage=true": {"coverage", "health"},
		"?includeCoverage=true&includeMonitoring=true": {"coverage", "health", "monitoring"},
	} {
		for _, o := range e.read(ofWhole, "/v1/orders"+args).Data {
			got := []string{}
			for _, name := range []string{"coverage", "health", "monitoring", "qualitySummary"} {
				if _, ok := o[name]; ok {
					got = append(got, name)
				}
			}
			equals.Checkf(t, want, got, "%s", args)
		}
	}
	got := e.read(ofWhole, "/v1/orders?includeMonitoring=true&includeCoverage=true")
	equals.Check(t, map[string]any{"includeMonitoring": true, "includeCoverage": true}, got.Query)
	ended := got.Data[2] // nothing in it is monitored
	equals.Check(t, map[string]any{"sites": []any{}, "intervalMinutes": 1440., "lastRunAt": "2024-12-24T08:00:00.000Z", "nextRunAt": nil}, ended["monitoring"])
	if diff := cmp.Diff(map[string]any{"configuredPairs": 0., "observedPairs": 0., "ratio": nil}, ended["coverage"]); diff != "" || ended["health"] != "UNKNOWN" {
		t.Error(diff, ended["health"])
	}
	if diff := cmp.Diff(map[string]any{"sites": []any{"shop-b"}, "intervalMinutes": 60., "lastRunAt": "2026-11-21T11:30:00.000Z", "nextRunAt": "2026-11-21T12:30:00.000Z"},
		e.read(ofShopB, "/v1/orders?includeMonitoring=true").Data[0]["monitoring"]); diff != "" { // VIS-05
		t.Error(diff)
	}
}

// ORD-00b, QUAL-01a, QUAL-01b, QUAL-05.
func TestOrderDetail(t *testing.T) {
	t.Parallel()
	e := ordersWorld.Get(t).of(t)
	want := order101 + `,"monitoring":{"sites":["shop-a","shop-b"],"intervalMinutes":60,"lastRunAt":"2026-11-21T11:30:00.000Z","nextRunAt":"2026-11-21T12:30:00.000Z"},` +
		`"coverage":{"configuredPairs":9,"observedPairs":3,"ratio":0.3333},"health":"DEGRADED",` +
		`"qualitySummary":{"priceObserved":1,"productUnavailable":1,"productNotFound":1,"accessTemporarilyRestricted":1,"siteTemporarilyUnavailable":1,` +
		`"pending":2,"overdue":1,"unknown":1,"sourceCountsConsistent":true}}`
	if got := string(e.get("/v1/orders/101", e.token(ofWhole)).body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	summary := func(account contracts.AccountID, path string) map[string]any {
		return decode[map[string]any](t, e.get(path, e.token(account)))["qualitySummary"].(map[string]any)
	}
	if s := summary(ofShopB, "/v1/orders/101"); s["pending"] != 2. || s["overdue"] != 0. || s["priceObserved"] != 0. { // VIS-05
		t.Errorf("%v", s)
	}
	if s := summary(ofWhole, "/v1/orders/102"); s["unknown"] != 3. || s["priceObserved"] != 1. || s["sourceCountsConsistent"] != false { // QUAL-03, QUAL-04
		t.Errorf("%v", s)
	}
}

// alike returns headers without what differs from request to request.
func alike(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "RateLimit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		h.Del(name)
	}
	return h
}

func TestObservationQuality(t *testing.T) { // OPEN-04
	t.Parallel()
	e := ordersWorld.Get(t).of(t)
	const path = "/v1/orders/101/observation-quality"
	got := e.read(ofWhole, path) // QUAL-K1, QUAL-00b, QUAL-02a, QUAL-02b
	var entries []string
	for _, q := range got.Data {
		entries = append(entries, fmt.Sprint(q["itemId"], " ", q["site"], " ", q["reasonCode"], " ", q["configuredObservations"], " ", q["expectedProcessedByNow"], " ", q["sourceCountsConsistent"], " ", q["lastCapturedAt"]))
	}
	want := []string{
		"1 shop-a PRICE_OBSERVED 24 11 true 2026-11-21T11:59:00.000Z",
		"1 shop-b PENDING 24 0 true 2026-11-20T06:00:00.000Z",
		"2 shop-a PRODUCT_UNAVAILABLE 24 11 true 2026-11-21T11:58:00.000Z",
		"2 shop-b PENDING 24 0 true <nil>", // choices 65
		"3 shop-a PRODUCT_NOT_FOUND 24 11 true 2026-11-21T11:57:00.000Z",
		"4 shop-a ACCESS_TEMPORARILY_RESTRICTED 24 11 true 2026-11-21T11:56:00.000Z", // QUAL-06
		"5 shop-a SITE_TEMPORARILY_UNAVAILABLE 24 11 true 2026-11-21T11:55:00.000Z",
		"6 shop-a UNKNOWN 24 11 true 2026-11-21T11:54:00.000Z",
		"7 shop-a OVERDUE 24 11 true <nil>", // configured, never captured, and due
	}
	equals.Check(t, want, entries)
	body := strings.ToLower(string(e.get(path, e.token(ofWhole)).body)) // QUAL-06
	for _, word := range []string{"captcha", "bot", "block", "proxy", "crawler"} {
		if strings.Contains(body, word) {
			t.Errorf("the body tells of %q", word)
		}
	}
	equals.Check(t, map[string]any{"orderId": "101"}, got.Query)
	for args, want := range map[string]int{ // QUAL-00a
		"?site=shop-b": 2, "?site=shop-c": 0, "?reasonCode=PRODUCT_NOT_FOUND": 1, "?reasonCode=OVERDUE": 1, "?reasonCode=PENDING": 2,
		"?reasonCode=OVERDUE&site=shop-a": 1, "?site=shop-a&limit=1000": 7,
	} {
		equals.Is(t, want, len(e.read(ofWhole, path+args).Data), "%s entries", args)
	}
	for _, args := range []string{"?limit=8", "?limit=9", "?limit=2&reasonCode=OVERDUE&site=shop-a"} { // QUAL-00a, CUR-02
		whole, parts := e.read(ofWhole, path+strings.Replace(args, "limit=", "limit=10", 1)).Data, e.walk(ofWhole, path+args)
		equals.Checkf(t, whole, parts, "%s", args)
	}
	// A cursor belongs to its order, its filters and its account (choices 22).
	cursor := e.read(ofWhole, path+"?limit=1").Paging.NextCursor
	for _, other := range []string{"/v1/orders/102/observation-quality?cursor=", path + "?site=shop-a&cursor=", "/v1/orders?cursor="} {
		e.get(other+cursor, e.token(ofWhole)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	e.get(path+"?cursor="+cursor, e.token(ofOrder101)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	for path, want := range map[string][]string{
		"/v1/orders/102/observation-quality": {"PRICE_OBSERVED", "UNKNOWN", "UNKNOWN", "UNKNOWN"}, // confirmed, malformed, elsewhere, missing: QUAL-04
		"/v1/orders/103/observation-quality": nil,                                                 // not active: nothing is configured
	} {
		equals.Checkf(t, want, keys(e.read(ofWhole, path), "reasonCode"), "%s", path)
	}
	for _, q := range e.read(ofWhole, "/v1/orders/102/observation-quality").Data { // QUAL-03
		if q["sourceCountsConsistent"] != false {
			t.Errorf("%v", q)
		}
	}
}

// TestOrderLimits counts at the edges, each dimension separately, on real rows:
// ORD-01, ORD-02a, ORD-02b, ORD-03a, ORD-03b, ORD-04, ERR-15, LIM-05.
func TestOrderLimits(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	const (
		atEdge  = "numbers(10000)"
		overTop = "numbers(10001)"
	)
	for _, c := range []struct {
		name     string
		orders   int // 1 to n
		pairs    string
		ask      string
		names    string // in the refusal; "": accepted
		inDetail bool   // of order 1: the same answer
	}{
		{"10,000 references and pairs of one order", 1, "SELECT number + 1 AS item, 'shop' AS site, [1] AS orders FROM " + atEdge, "includeCoverage", "", true},
		{"10,001 of both", 1, "SELECT number + 1 AS item, 'shop' AS site, [1] AS orders FROM " + overTop, "includeCoverage", "references", true},
		{"10,000 references to 5,000 pairs", 2, "SELECT number + 1 AS item, 'shop' AS site, [1, 2] AS orders FROM numbers(5000)", "includeCoverage", "", false},
		{"10,001 references to 5,001 pairs", 2, "SELECT number + 1 AS item, 'shop' AS site, if(number < 5000, [1, 2], [1]) AS orders FROM numbers(5001)", "includeCoverage", "references", false},
		{"10,000 pairs of 5,000 items", 1, "SELECT intDiv(number, 2) + 1 AS item, if(number % 2, 'a', 'b') AS site, [1] AS orders FROM " + atEdge, "includeCoverage", "", true},
		{"10,001 pairs of 5,001 items", 1, "SELECT intDiv(number, 2) + 1 AS item, if(number % 2, 'a', 'b') AS site, [1] AS orders FROM " + overTop, "includeCoverage", "item-site", true},
		{"10,000 order-site pairs", 10, "SELECT 1 AS item, concat('s', toString(number)) AS site, range(1, 11) AS orders FROM numbers(1000)", "includeMonitoring", "", true},
		{"10,001 order-site pairs", 11, "SELECT 1 AS item, concat('s', toString(number)) AS site, if(number = 0, range(1, 12), range(1, 11)) AS orders FROM numbers(1000)", "includeMonitoring", "order-site", false},
		{"10,001 of an order that is not active", -1, "SELECT number + 1 AS item, 'shop' AS site, [1] AS orders FROM " + overTop, "includeCoverage", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			mandate := len(c.name)*1000 + len(c.pairs) // a mandate of its own
			account := contracts.AccountID(mandate)
			for id := 1; id <= max(c.orders, 1); id++ {
				e.order(mandate, id, c.orders > 0)
			}
			e.scope(uint64(mandate), 7, c.pairs)
			e.account(account, uint64(mandate), "", "")
			list := "/v1/orders?" + c.ask + "=true"
			detail := e.get("/v1/orders/1", e.token(account))
			if c.names == "" {
				p := e.read(account, list)
				if len(p.Data) != max(c.orders, 1) {
					t.Errorf("%d orders", len(p.Data))
				}
				if detail.StatusCode != 200 {
					t.Errorf("%d %s", detail.StatusCode, detail.body)
				}
				return
			}
			p := e.get(list, e.token(account)).wantProblem(t, 400, "ORDER_COVERAGE_SCOPE_TOO_BROAD")
			for _, word := range []string{c.names, "orderId", "lower limit", "omit " + c.ask} { // ORD-03b
				if !strings.Contains(p.Detail, word) {
					t.Errorf("%q is not in %q", word, p.Detail)
				}
			}
			without := func(p problem, words ...string) { // no advice that the caller already followed
				t.Helper()
				for _, word := range words {
					if strings.Contains(p.Detail, word) {
						t.Errorf("%q is in %q", word, p.Detail)
					}
				}
			}
			if c.inDetail { // ORD-04
				without(detail.wantProblem(t, 400, "ORDER_COVERAGE_SCOPE_TOO_BROAD"), "limit", "Narrow", "omit")
				e.read(account, "/v1/orders?orderId=1&includeMonitoring=true") // as advised
				without(e.get(list+"&limit=1", e.token(account)).wantProblem(t, 400, "ORDER_COVERAGE_SCOPE_TOO_BROAD"), "limit")
				without(e.get(list+"&limit=1&orderId=1", e.token(account)).wantProblem(t, 400, "ORDER_COVERAGE_SCOPE_TOO_BROAD"), "limit", "orderId")
			} else if detail.StatusCode != 200 {
				t.Errorf("%d %s", detail.StatusCode, detail.body)
			}
			e.read(account, "/v1/orders")
			if c.orders > 1 { // with orderId, and with a lower limit
				e.read(account, list+"&orderId=2")
				equals.Is(t, c.orders, len(e.walk(account, list+"&limit=1")), "orders by walking")
			}
		})
	}
}

// TestRefusedOrdersAreCheap refuses an order of 400,000 pairs without reading
// them.
func TestRefusedOrdersAreCheap(t *testing.T) {
	e := newEstate(t)
	e.order(1, 1, true)
	e.order(1, 2, true)
	e.account(ofWhole, 1, "", "")
	e.scope(1, 7, "SELECT number + 1 AS item, 'shop' AS site, if(number < 10000, [2], [1]) AS orders FROM numbers(400000)")
	cost := func(path string, status int) (rows uint64) {
		t.Helper()
		before := time.Now()
		e.get(path, e.token(ofWhole)).want(t, status)
		e.exec("SYSTEM FLUSH LOGS query_log")
		must.Do(t, e.conn.QueryRow(t.Context(), "SELECT sum(read_rows) FROM system.query_log WHERE type = 'QueryFinish' AND current_database = currentDatabase() AND query_start_time_microseconds >= fromUnixTimestamp64Micro(?) AND query LIKE '%scope_pairs%' AND query NOT LIKE '%query_log%'", before.UnixMicro()).Scan(&rows))
		return rows
	}
	refused := cost("/v1/orders/1", 400)
	page := cost("/v1/orders/2", 200)
	t.Logf("rows read: refused %d, answered %d", refused, page)
	if refused == 0 || refused >= page || refused > 200_000 {
		t.Errorf("a refusal reads %d rows, an answer %d", refused, page)
	}
}
