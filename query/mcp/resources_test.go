package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// read returns the text of a resource.
func (a *agent) read(uri string) string {
	a.t.Helper()
	var reply struct {
		Result struct {
			Contents []struct{ URI, MIMEType, Text string }
		}
	}
	answer := a.send("resources/read", object{"uri": uri})
	must.Do(a.t, json.Unmarshal([]byte(answer.body), &reply))
	c := reply.Result.Contents
	if len(c) != 1 || c[0].URI != uri || c[0].MIMEType != "application/json" {
		a.t.Fatalf("%s: %s", uri, answer.body)
	}
	return c[0].Text
}

// RSRC-01, RSRC-02, MCP-10e, OPEN-12.
func TestResourcesAreListed(t *testing.T) {
	a := newAgents(t, newMarket()).agent(whole)
	golden(t, "resources.golden.json", member(t, a.send("resources/list", nil).body, "resources"))
	golden(t, "templates.golden.json", member(t, a.send("resources/templates/list", nil).body, "resourceTemplates"))
}

// RSRC-01: the same bodies as over REST for the same account.
func TestReferences(t *testing.T) {
	a := newAgents(t, newMarket())
	for _, account := range []contracts.AccountID{whole, oneOrder, foreigner} {
		for uri, path := range map[string]string{
			"svc://reference/sites": "/v1/sites", "svc://reference/asin-locales": "/v1/items/asin-locales", "svc://reference/results-contract": "/v1/results/capabilities",
		} {
			agent := a.agent(account)
			equals.Checkf(t, agent.get(path).body, agent.read(uri), "%s as %d", uri, account)
		}
		sites := a.agent(account).call("list_sites", nil).ok()
		var read object
		must.Do(t, json.Unmarshal([]byte(a.agent(account).read("svc://reference/sites")), &read))
		equals.Check(t, sites["data"], read["data"])
	}
}

// All sites are listed, however many.
func TestTheSitesOfManyPages(t *testing.T) {
	m := newMarket()
	for i := range 2_345 {
		key := contracts.SiteKey(fmt.Sprintf("site-%04d", i))
		m.sites = append(m.sites, contracts.Site{Site: key, Name: "Site", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
		m.orders[0].Sites = append(m.orders[0].Sites, key)
	}
	m.orders[0].Items = m.orders[0].Items[:1]
	var all struct {
		Data   []object
		Paging object
	}
	must.Do(t, json.Unmarshal([]byte(newAgents(t, m).agent(oneOrder).read("svc://reference/sites")), &all))
	seen := map[any]bool{}
	for _, s := range all.Data {
		seen[s["site"]] = true
	}
	if len(all.Data) != 2_347 || len(seen) != 2_347 || all.Paging["returned"] != 2_347.0 || all.Paging["nextCursor"] != nil {
		t.Errorf("%d sites, %d of them different, %v", len(all.Data), len(seen), all.Paging)
	}
}

// RSRC-02, VIS-04: a record of the caller's own is returned; another's record
// and a record that does not exist are the same error.
func TestTemplates(t *testing.T) {
	a := newAgents(t, newMarket())
	agent := a.agent(whole)
	for uri, want := range map[string]object{
		"svc://sites/market-de": {"site": "market-de", "canonicalCountryMarket": true},
		"svc://orders/5":        {"orderId": "5"}, // its health changes during the day; it is compared with REST below
		"svc://items/11":        {"itemId": "11", "name": "Marker"},
	} {
		var got object
		must.Do(t, json.Unmarshal([]byte(agent.read(uri)), &got))
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %v", uri, name, got[name])
			}
		}
	}
	equals.Check(t, agent.get("/v1/orders/5").body, agent.read("svc://orders/5"))
	for _, agent := range both(a) {
		for _, uris := range [][]string{
			{"svc://sites/none", "svc://sites/shop-far", "svc://sites/NOT%20A%20KEY"},
			{"svc://orders/999", "svc://orders/8", "svc://orders/abc"},
			{"svc://items/999", "svc://items/15", "svc://items/abc"},
		} {
			var first reply
			for i, uri := range uris {
				r := agent.send("resources/read", object{"uri": uri}).reply(t)
				if r.Error == nil || r.Error.Code != -32602 {
					t.Fatalf("%s: %+v", uri, r)
				}
				if i == 0 {
					first = r
				}
				equals.Checkf(t, first.Error, r.Error, "%s", uri)
			}
		}
		for _, uri := range []string{"svc://nothing", "svc://reference/none", "svc://sites/", "https://shop.example/"} {
			if r := agent.send("resources/read", object{"uri": uri}).reply(t); r.Error == nil || r.Error.Code != -32602 {
				t.Errorf("%s: %+v", uri, r)
			}
		}
	}
	if r := a.agent(sitesOnly).send("resources/read", object{"uri": "svc://items/11"}).reply(t); r.Error == nil || r.Error.Data["code"] != "AUTH_FORBIDDEN" {
		t.Errorf("%+v", r)
	}
}

// RSRC-02, VIS-03: what is too broad to be read is refused as over REST. It is
// not reported as missing.
func TestResourcesTooBroad(t *testing.T) {
	m := broad(3_400, 0) // 10,200 candidates
	for i := range 1_001 {
		m.files = append(m.files, query.FileEntry{
			Artifact: query.Artifact{FilesOf: query.FilesOf{Direction: query.Exports, OrderID: 5}, Mandate: 1, Archive: contracts.ArchiveID(i + 1)}, ArchivedAt: moment(),
		})
	}
	for _, agent := range both(newAgents(t, m)) {
		for uri, code := range map[string]string{
			"svc://orders/5": "ORDER_COVERAGE_SCOPE_TOO_BROAD",
			fmt.Sprintf("svc://orders/5/exports/%d/daily.csv/12-111", moment().UnixMilli()): "HISTORY_SCOPE_TOO_BROAD",
		} {
			answer := agent.send("resources/read", object{"uri": uri})
			if r := answer.reply(t); r.Error == nil || r.Error.Code != -32602 || r.Error.Data["code"] != code || !strings.Contains(r.Error.Message, "more than") {
				t.Errorf("%s: %s", uri, answer.body)
			}
		}
	}
}
