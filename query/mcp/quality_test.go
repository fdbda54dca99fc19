package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// Each record of the quality of an order says when the next capture of its pair
// is due, if both the newest capture and the interval are known.
func TestQualitySaysWhenThePairIsDue(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	const tool = "list_order_observation_quality"
	for order, every := range map[int]time.Duration{5: time.Hour, 6: 0} { // 6 has no schedule
		rows := list(a.call(tool, object{"orderId": order}).ok(), "data")
		known := 0
		for _, r := range rows {
			last, due := at(r, "lastCapturedAt"), at(r, "nextDueAt")
			if every == 0 || last == nil {
				if _, said := r.(object)["nextDueAt"]; said {
					t.Errorf("order %d: due is said of %v", order, r)
				}
				continue
			}
			known++
			captured := must.Get(time.Parse(time.RFC3339, last.(string)))(t)
			if want := captured.Add(every).Format("2006-01-02T15:04:05.000Z"); due != want {
				t.Errorf("order %d: due %v, want %s after %v", order, due, want, last)
			}
		}
		if known == len(rows) || (known == 0) != (every == 0) {
			t.Errorf("order %d: %d of %d pairs have a time", order, known, len(rows))
		}
	}
	asked := a.call(tool, object{"orderId": 5, "itemId": 11, "fields": []string{"site", "nextDueAt"}}).ok()
	if rows := list(asked, "rows"); len(rows) != 2 || rows[0].([]any)[1] == nil {
		t.Errorf("as a table: %v", asked["rows"])
	}
	over := a.get("/v1/orders/5/observation-quality")
	if strings.Contains(over.body, "nextDueAt") {
		t.Errorf("REST: %s", over.body)
	}
}

// The first page of the quality of an order counts all its pairs by site and
// reason, whatever part of them is listed, and says when the next capture is
// due; for one item it has only the pairs of that item.
func TestQualityBySiteReasonAndItem(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	const tool = "list_order_observation_quality"
	reasons := func(answer object) map[string]any {
		all := map[string]any{}
		for _, s := range list(answer, "summary", "sites") {
			all[at(s, "site").(string)] = at(s, "reasons")
		}
		return all
	}
	counted := func(answer object) map[string]any { // from the rows, in the form of the summary
		all := map[string]any{}
		for _, r := range list(answer, "data") {
			site, code := at(r, "site").(string), at(r, "reasonCode").(string)
			if all[site] == nil {
				all[site] = object{}
			}
			n, _ := all[site].(object)[code].(float64)
			all[site].(object)[code] = n + 1
		}
		return all
	}
	every := a.call(tool, object{"orderId": 5}).ok()
	if diff := cmp.Diff(counted(every), reasons(every)); diff != "" || len(reasons(every)) != 2 {
		t.Errorf("the order: %s", diff)
	}
	for _, s := range list(every, "summary", "sites") {
		if last, due := at(s, "lastCapturedAt"), at(s, "nextDueAt"); last == nil || due == nil || due.(string) <= last.(string) {
			t.Errorf("due %v after %v", due, last)
		}
	}
	for _, arguments := range []object{{"limit": 1}, {"reasonCode": "PRODUCT_UNAVAILABLE"}} {
		arguments["orderId"] = 5
		equals.Checkf(t, reasons(every), reasons(a.call(tool, arguments).ok()), "%v", arguments)
	}
	first := a.call(tool, object{"orderId": 5, "limit": 1}).ok()
	second := a.call(tool, object{"orderId": 5, "limit": 1, "cursor": at(first, "completeness", "nextCursor")}).ok()
	if at(second, "summary", "sites") != nil || len(list(second, "data")) != 1 {
		t.Errorf("a later page: %v", second["summary"])
	}

	rows := 0
	for _, item := range []string{"11", "12", "13"} {
		one := a.call(tool, object{"orderId": 5, "itemId": item}).ok()
		for _, r := range list(one, "data") {
			rows++
			if at(r, "itemId") != item {
				t.Errorf("item %s: %v", item, r)
			}
		}
		equals.Checkf(t, counted(one), reasons(one), "item %s", item)
		// Page by page it is the same.
		var paged []any
		arguments := object{"orderId": 5, "itemId": item, "limit": 1}
		for {
			page := a.call(tool, arguments).ok()
			paged = append(paged, list(page, "data")...)
			if arguments["cursor"] = at(page, "completeness", "nextCursor"); arguments["cursor"] == nil {
				break
			}
		}
		if diff := cmp.Diff(list(one, "data"), paged); len(paged) > 0 && diff != "" {
			t.Errorf("item %s by pages: %s", item, diff)
		}
	}
	if rows != len(list(every, "data")) {
		t.Errorf("%d pairs by item, %d in all", rows, len(list(every, "data")))
	}
	if site := a.call(tool, object{"orderId": 5, "itemId": 11, "site": "shop-one"}).ok(); len(list(site, "data")) != 1 || len(reasons(site)) != 1 {
		t.Errorf("one pair: %v", site)
	}
	if note := a.call(tool, object{"orderId": 5, "itemId": 15}).ok()["note"]; note == nil {
		t.Error("an item of others has no note")
	}
	// VIS-03: a caller that sees a part gets the counts of that part.
	part := newAgents(t, newMarket()).agent(oneOrder).call(tool, object{"orderId": 5}).ok()
	equals.Checkf(t, counted(part), reasons(part), "a part")
	var over object // REST has no such argument
	must.Do(t, json.Unmarshal([]byte(a.get("/v1/orders/5/observation-quality?itemId=11").body), &over))
	if over["code"] != "MVP_VALIDATION_ERROR" {
		t.Errorf("REST: %v", over)
	}
}
