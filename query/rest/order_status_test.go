package rest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/query"
)

const (
	withoutFiles contracts.AccountID = iota + 31 // may not read files
	filesAlone                                   // may not read orders
)

// newManyOrders is an estate with 14 orders of mandate 1 and 4 of mandate 2,
// with random schedules, counters, memberships, pairs, captures and files.
// Order 1,007 has more documents than are examined, and 1,008 has no files.
func newManyOrders(t *testing.T) *live {
	e := newEstate(t)
	e.account(ofWhole, 1, "", "")
	e.account(ofOrder101, 1, "[1005]", "")
	e.account(ofShopB, 1, "", "['shop-b']")
	e.account(ofOther, 2, "", "")
	e.exec("INSERT INTO accounts VALUES (?, 1, 'none', 'h', false, false, ['orders', 'files'], false, [], false, [], 1)", uint64(ofNothing))
	e.exec("INSERT INTO accounts VALUES (?, 1, 'nofiles', 'h', false, false, ['sites', 'items', 'orders', 'results'], true, [], true, [], 1)", uint64(withoutFiles))
	e.exec("INSERT INTO accounts VALUES (?, 1, 'files', 'h', false, false, ['files'], true, [], true, [], 1)", uint64(filesAlone))
	r := rand.New(rand.NewPCG(41, 54))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	at := func(hours int) string {
		return noon.Add(-time.Duration(r.IntN(hours*3600)) * time.Second).Format("'2006-01-02 15:04:05'")
	}
	var orders, documents, jobs []string
	active := map[int][]int{}
	for n := range 18 {
		mandate, id := 1, 1000+n
		if n >= 14 {
			mandate, id = 2, 2047+n
		}
		if n%7 != 3 {
			active[mandate] = append(active[mandate], id)
		}
		var counters, members []string
		for _, site := range []string{"shop-a", "shop-b", "shop-b"} {
			if r.IntN(3) == 0 {
				counters = append(counters, fmt.Sprintf("('%s', %d, %d, %d)", site, r.IntN(25), r.IntN(12), r.IntN(12)))
			}
		}
		for item := range 20 {
			members = append(members, fmt.Sprintf("(%d, '%s')", item+1, one("shop-a", "shop-b", "shop-a;shop-b", "shop-a,shop-b")))
		}
		orders = append(orders, fmt.Sprintf("(%d, %d, '%s', 'Order %d', %t, %s, %s, %s, %s, [%s], %t, [%s], 1)", mandate, id, one("", fmt.Sprint("alias ", id)), id, n%7 != 3,
			at(9000), one("0", "60", "1440", "7"), one("NULL", at(30)), one("NULL", at(30)), strings.Join(counters, ", "), n%5 == 0, strings.Join(members, ", ")))
		for d, direction := range []string{"export", "import"} {
			jobs = append(jobs, fmt.Sprintf("(%d, '%s', %d, 1, 'Job %d', '2026-01-15 08:00:00', 1)", mandate, direction, id, r.IntN(3)))
			for doc := range r.IntN(9) {
				var files []string
				for f := range r.IntN(4) {
					name := fmt.Sprintf("%s %d/%d/%d", direction, id, doc, f)
					files = append(files, fmt.Sprintf("('%s', '%s%s', %d, '%064d')", name, name, one(".csv", ".zip", ".xlsx", ""), r.IntN(1e6), f))
				}
				if id != 1008 {
					archived := noon.Add(-time.Duration(r.IntN(5)) * 250 * time.Millisecond) // some at the same time
					documents = append(documents, fmt.Sprintf("(%d, '%s', %d, %d, %d, '%s', [%s], 1)", mandate, direction, id, 100*d+doc+1, r.IntN(2)+1, archived.Format("2006-01-02 15:04:05.000"), strings.Join(files, ", ")))
				}
			}
		}
	}
	e.exec("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships, version) VALUES " + strings.Join(orders, ", "))
	e.exec("INSERT INTO file_jobs VALUES " + strings.Join(jobs, ", "))
	e.exec("INSERT INTO file_archives VALUES " + strings.Join(documents, ", "))
	e.exec("INSERT INTO file_archives SELECT 1, 'import', 1007, number + 1000, 1, '2026-01-15 08:00:00', [('n', 'n.csv', 1, 'x')], 1 FROM numbers(1001)")
	for mandate, ids := range active {
		var pairs []string
		for item := range 20 {
			for _, site := range []string{"shop-a", "shop-b", "shop-c"} {
				var of []string
				for _, id := range ids {
					if r.IntN(4) == 0 {
						of = append(of, fmt.Sprint(id))
					}
				}
				if len(of) > 0 {
					pairs = append(pairs, fmt.Sprintf("(%d, '%s', [%s])", item+1, site, strings.Join(of, ", ")))
				}
			}
		}
		e.scope(uint64(mandate), 7, "SELECT * FROM VALUES('item UInt64, site String, orders Array(UInt64)', "+strings.Join(pairs, ", ")+")")
	}
	for item := range 20 {
		for _, site := range []string{"shop-a", "shop-b", "shop-c"} {
			if r.IntN(5) > 0 {
				e.captured(item+1, site, one("priceObserved", "priceObserved", "unavailable", "productNotFound", "accessRestricted", "siteUnavailable", "unknown"), noon.Add(-time.Duration(r.IntN(60*3600))*time.Second))
			}
		}
	}
	return e
}

type orderStatuses struct {
	Data  []map[string]any
	Query map[string]any
}

func (e *live) statuses(account contracts.AccountID, args string) orderStatuses {
	e.t.Helper()
	a := e.get("/ext/v1/orders/status?"+args, e.token(account)).want(e.t, 200)
	return decode[orderStatuses](e.t, a)
}

// fromReads returns what the reads of /v1 say about an order, with all its
// files.
func (e *live) fromReads(account contracts.AccountID, listed map[string]any) map[string]any {
	e.t.Helper()
	path := "/v1/orders/" + listed["orderId"].(string)
	want := decode[map[string]any](e.t, e.get(path, e.token(account)))
	for name, value := range listed {
		equals.Checkf(e.t, value, want[name], "%s: the list and the detail have another %s", path, name)
	}
	want["fileCount"], want["files"], want["filesProblem"] = nil, nil, nil
	files := []any{}
	for _, kind := range []string{"exports", "imports"} {
		a := e.get(path+"/"+kind+"/history?limit=100", e.token(account))
		if a.StatusCode != http.StatusOK {
			p := decode[problem](e.t, a)
			want["filesProblem"] = map[string]any{"code": p.Code, "detail": p.Detail}
			continue
		}
		history := decode[page](e.t, a)
		if history.Paging.NextCursor != "" {
			e.t.Errorf("%s has more %s than are drawn", path, kind)
		}
		for _, f := range history.Data {
			f["kind"] = kind
			files = append(files, any(f))
		}
	}
	if want["filesProblem"] == nil {
		slices.SortStableFunc(files, func(a, b any) int {
			return cmp.Compare(b.(map[string]any)["archivedAt"].(string), a.(map[string]any)["archivedAt"].(string))
		})
		want["fileCount"], want["files"] = float64(len(files)), files
	}
	return want
}

// TestOrderStatusSaysWhatTheReadsSay compares the status of orders with the
// list, the details and the histories of /v1: ORD-K1, QUAL-01c, VIS-01a,
// VIS-05, HIST-02.
func TestOrderStatusSaysWhatTheReadsSay(t *testing.T) {
	t.Parallel()
	e := newManyOrders(t)
	seen, problems, exports, degraded := 0, map[string]int{}, 0, 0
	for _, account := range []contracts.AccountID{ofWhole, withoutFiles, ofOrder101, ofShopB, ofNothing, ofOther} {
		want := map[string]map[string]any{}
		ids := []string{}
		for _, o := range e.walk(account, "/v1/orders?includeMonitoring=true&includeCoverage=true&limit=9") {
			id := o["orderId"].(string)
			want[id], ids = e.fromReads(account, o), append(ids, id)
		}
		for i, each := range []int{0, 1, 3, 100} {
			for k, only := range []string{"", "1005", "1007", "1008", "2061", "9"} {
				if k > 0 && i != k%4 { // all orders by every number of files, each one by one
					continue
				}
				args := fmt.Sprintf("files=%d", each)
				if each == 0 {
					args = "timezone=UTC"
				}
				wanted := ids
				if only != "" {
					args += "&orderId=" + only
					wanted = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id != only })
				}
				got := e.statuses(account, args)
				what, files := fmt.Sprintf("account %d, %s", account, args), 0
				if len(got.Data) != len(wanted) {
					t.Errorf("%s: %d orders, not %d", what, len(got.Data), len(wanted))
					continue
				}
				for i, o := range got.Data {
					w := newestOf(want[wanted[i]], each)
					equals.Checkf(t, w, o, "%s (-/v1 +status)", what)
					if p, ok := o["filesProblem"].(map[string]any); ok {
						problems[p["code"].(string)]++
					}
					all, _ := o["files"].([]any)
					files += len(all)
					for _, f := range all {
						if _, named := f.(map[string]any)["exportName"]; named {
							exports++
						}
					}
					if seen++; o["health"] == "DEGRADED" {
						degraded++
					}
				}
				wantQuery := map[string]any{"asOf": "2026-11-21T12:00:00.000Z", "timezone": "UTC", "orders": float64(len(wanted)), "files": float64(files)}
				equals.Checkf(t, wantQuery, got.Query, "%s", what)
			}
		}
	}
	if seen < 180 || problems["AUTH_FORBIDDEN"] < 40 || problems["HISTORY_SCOPE_TOO_BROAD"] == 0 || exports < 60 || degraded == 0 {
		t.Errorf("%d orders, problems %v, %d exports, %d degraded", seen, problems, exports, degraded)
	}
	e.get("/ext/v1/orders/status?files=1", e.token(filesAlone)).wantProblem(t, 403, "AUTH_FORBIDDEN")
	if got := e.statuses(ofOther, "timezone=Europe/Berlin&files=1&orderId=2061"); !strings.HasSuffix(got.Data[0]["createdAt"].(string), ":00") || got.Query["asOf"] != "2026-11-21T13:00:00.000+01:00" {
		t.Errorf("%+v", got)
	}
}

// newestOf keeps the newest files of each kind; the order's files are sorted.
func newestOf(order map[string]any, each int) map[string]any {
	c := map[string]any{}
	for name, value := range order {
		c[name] = value
	}
	if each == 0 {
		c["fileCount"], c["files"], c["filesProblem"] = nil, nil, nil
	}
	all, ok := c["files"].([]any)
	if !ok {
		return c
	}
	files, of := []any{}, map[any]int{}
	for _, f := range all {
		kind := f.(map[string]any)["kind"]
		if of[kind]++; of[kind] <= each {
			files = append(files, f)
		}
	}
	c["files"] = files
	return c
}

// The files of all orders are one statement, and the pairs are read one time.
func TestOrderStatusAsksOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var mu sync.Mutex
	requested := map[string]int{}
	s.store.breakDown(func(method string) error {
		mu.Lock()
		defer mu.Unlock()
		requested[method]++
		return nil
	})
	for args, want := range map[string]map[string]int{
		"":                   {"Orders": 1, "CountPairs": 1, "OrderSites": 1, "OrderPairs": 1},
		"?files=2":           {"Orders": 1, "CountPairs": 1, "OrderSites": 1, "OrderPairs": 1, "CountFilesOf": 1, "NewestFiles": 1},
		"?files=2&orderId=6": {"Orders": 1, "CountFilesOf": 1}, // it is not active, and has no files
		"?files=2&orderId=7": {"Orders": 1},
	} {
		clear(requested)
		s.get("/ext/v1/orders/status"+args, s.token(reader)).is(t, 200)
		delete(requested, "Access")
		equals.Checkf(t, want, requested, "%s", args)
	}
}

// A request that covers too much is refused, and what the refusal advises is
// accepted.
func TestOrderStatusBounds(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	e.account(ofWhole, 1, "", "")
	e.account(ofOther, 2, "", "")
	e.exec("INSERT INTO orders (mandate, order_id, name, active, created_at, version) SELECT 1, number + 1, 'x', true, '2026-11-01 00:00:00', 1 FROM numbers(51)")
	e.exec("INSERT INTO orders (mandate, order_id, name, active, created_at, version) SELECT 2, number + 1, 'x', true, '2026-11-01 00:00:00', 1 FROM numbers(1000)")
	e.scope(1, 7, "SELECT number + 1 AS item, 'shop-a' AS site, [1] AS orders FROM numbers(10)")
	e.scope(2, 7, "SELECT number + 1 AS item, 'shop-a' AS site, [1 + item % 2] AS orders FROM numbers(100000)")
	for d := range 2 {
		e.exec(fmt.Sprintf("INSERT INTO file_archives SELECT 1, '%s', 1 + number %% 51, number + 1, 1, toDateTime64('2026-11-01 00:00:00', 3) + number, [('n', 'n.csv', 1, 'x')], 1 FROM numbers(5100)", [...]query.Direction{query.Exports, query.Imports}[d]))
	}
	refused := func(account contracts.AccountID, args, says string) {
		t.Helper()
		p := e.get("/ext/v1/orders/status?"+args, e.token(account)).wantProblem(t, 400, "ORDER_COVERAGE_SCOPE_TOO_BROAD")
		if !strings.Contains(p.Detail, says) || !strings.Contains(p.Detail, "Narrow with orderId") {
			t.Errorf("%s: %s", args, p.Detail)
		}
		if told := decode[explained](t, e.get("/ext/v1/explain?path=/ext/v1/orders/status&"+args, e.token(account))); told.Accepted {
			t.Errorf("%s is explained as accepted", args)
		}
	}
	refused(ofWhole, "files=100", "10000 archived files")
	for args, files := range map[string]float64{"files=98": 51 * 2 * 98, "files=100&orderId=51": 200} {
		if got := e.statuses(ofWhole, args); got.Query["files"] != files {
			t.Errorf("%s: %v", args, got.Query)
		}
	}
	if got := e.statuses(ofOther, "timezone=UTC"); len(got.Data) != 1000 || got.Data[0]["coverage"].(map[string]any)["configuredPairs"] != 50_000. {
		t.Errorf("%d orders, %v", len(got.Data), got.Data[0])
	}
	e.exec("INSERT INTO scope_pairs SELECT 2, 7, 100001, 'shop-a', [3]")
	refused(ofOther, "timezone=UTC", "100001 item-site pairs")
	if got := e.statuses(ofOther, "orderId=2"); got.Data[0]["coverage"].(map[string]any)["configuredPairs"] != 50_000. {
		t.Errorf("%v", got.Data)
	}
	e.exec("INSERT INTO orders (mandate, order_id, name, active, created_at, version) VALUES (2, 1001, 'x', false, '2026-11-01 00:00:00', 1)")
	refused(ofOther, "timezone=UTC", "more than 1000 orders")
	for args, says := range map[string][]string{
		"files=101": {"files: 101"}, "files=-1": {"files: -1"}, "files=ten": {"files: "}, "files=1&files=2": {"files: "}, "files=": {"files: "},
		"site=shop-a": {"site"}, "files=101&timezone=x&limit=1": {"files: 101", "limit"}, "orderId=x": {"orderId: "}, "timezone=x&files=200": {"files: 200", "timezone: "},
	} {
		p := e.get("/ext/v1/orders/status?"+args, e.token(ofWhole)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		for _, part := range says {
			if !strings.Contains(p.Detail, part) {
				t.Errorf("%s: %s", args, p.Detail)
			}
		}
	}
}
