package mcp_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/wire"
)

// extendedAsked has questions for each read of /ext/v1, with {item} and so on.
var extendedAsked = map[string][]string{
	"/statistics":             {"orderId={order}&by=merchant&bucket=day", "by=product&itemId={item}&includeTrend=true&includeStanding=true"},
	"/position":               {"orderId={order}&limit=3", "itemId={item}&timezone=Europe/Berlin"},
	"/movers":                 {"orderId={order}&since={since}&limit=5", "itemId={item}&since={since}&kind=PRICE_DOWN"},
	"/windows":                {"orderId={order}&capturedFrom={since}", "itemId={item}&capturedFrom={since}&bucket=hour"},
	"/evidence":               {"itemId={item}&site={site}&capturedAt={captured}"},
	"/sites/status":           {"", "orderId={order}&timezone=Europe/Berlin"},
	"/orders/status":          {"", "orderId={order}&files=2"},
	"/overview":               {"", "since=now-7d&site={site}&ownMerchant=Demo%20Shop+%26%20Co"},
	"/items/{itemId}/summary": {"", "capturedFrom={since}&capturedTo={captured}&site={site}&candidatePrice=9.99&currencyCode=EUR"},
}

// extendedQuestions returns all of them, about a product and an order of the
// demo.
func (d *demo) extendedQuestions(t *testing.T) (all []string) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wire.Reads())), slices.Sorted(maps.Keys(extendedAsked))); diff != "" {
		t.Fatalf("reads without a question (-reads +asked): %s", diff)
	}
	order := d.order(askedOrder)
	pair := contracts.Pair{Item: order.Items[0], Site: order.Sites[0]}
	newest, _ := d.newest(pair, time.Time{}, d.now)
	fill := strings.NewReplacer(
		"{item}", pair.Item.String(), "{itemId}", pair.Item.String(), "{order}", order.OrderID.String(), "{site}", string(pair.Site),
		"{since}", d.now.Add(-24*time.Hour).Format(time.RFC3339), "{captured}", newest.CapturedAt.Format(time.RFC3339Nano),
	)
	for _, path := range slices.Sorted(maps.Keys(extendedAsked)) {
		for _, asked := range extendedAsked[path] {
			question := path
			if asked != "" {
				question += "?" + asked
			}
			all = append(all, fill.Replace(question))
		}
	}
	return all
}

var seals = regexp.MustCompile(`("token":"|"nextCursor":"|cursor=)[-\w]+`)

// unsealed returns an answer without the values that are sealed, each time
// differently.
func unsealed(body string) string { return seals.ReplaceAllString(body, "${1}sealed") }

// refusedRead reads a resource that must be refused.
func (a *agent) refusedRead(uri string) reply {
	a.t.Helper()
	answer := a.send("resources/read", object{"uri": uri})
	r := answer.reply(a.t)
	if r.Error == nil {
		a.t.Fatalf("%s: %.300s", uri, answer.body)
	}
	return r
}

// MCP-10e, RSRC-02: each read of /ext/v1 is a resource, and the text is the body
// that REST returns at that instant, in both eras.
func TestExtendedReads(t *testing.T) {
	d := newDemo(t)
	for i, agent := range []*agent{d.agents.agent(d.account), d.agents.legacy(d.account)} {
		for j, question := range d.extendedQuestions(t) {
			if i > 0 && j%effort.Often(6, 1) > 0 {
				continue
			}
			over, body := agent.get("/ext/v1"+question), agent.read("svc://ext/v1"+question)
			if diff := cmp.Diff(unsealed(over.body), unsealed(body)); over.status != 200 || diff != "" {
				t.Errorf("%s: REST %d (-REST +MCP): %s", question, over.status, diff)
			}
			var list struct{ Data []object }
			must.Do(t, json.Unmarshal([]byte(body), &list))
			if len(list.Data) == 0 {
				t.Errorf("%s: no records", question)
			}
		}
	}
}

// VIS-04: named by an account of another mandate, they show what REST shows it,
// which is nothing of the first.
func TestExtendedReadsOfOthers(t *testing.T) {
	d := newDemo(t)
	foreign, order := d.agents.agent(d.other), d.order(askedOrder)
	if own := foreign.get("/ext/v1/sites/status"); own.status != 200 || !strings.Contains(own.body, `"site":`) {
		t.Fatalf("account %d: %d %.300s", d.other, own.status, own.body)
	}
	secrets := []string{d.items[order.Items[0]].Name, order.Name, order.Alias}
	for _, question := range d.extendedQuestions(t) {
		over, answer := foreign.get("/ext/v1"+question), foreign.send("resources/read", object{"uri": "svc://ext/v1" + question})
		var got, want any
		if r := answer.reply(t); r.Error != nil {
			must.Do(t, json.Unmarshal([]byte(over.body), &want))
			got = r.Error.Data
		} else {
			want, got = unsealed(over.body), unsealed(foreign.read("svc://ext/v1"+question))
		}
		equals.Checkf(t, want, got, "%s (-REST +MCP)", question)
		for _, secret := range secrets {
			if secret != "" && strings.Contains(answer.body, secret) {
				t.Errorf("%s tells %q", question, secret)
			}
		}
	}
}

// What is wrong with the parameters is said as over REST.
func TestExtendedReadsRefuse(t *testing.T) {
	a := newAgents(t, newMarket())
	for _, agent := range both(a) {
		for _, question := range []string{
			"/sites/status?nonsense=1", "/sites/status?orderId=5&orderId=6", "/sites/status?orderId=none", "/sites/status?timezone=Nowhere",
			"/sites/status?site=a;b", "/statistics?itemId=11&by=nothing&limit=2", "/overview?since=tomorrow", "/movers?itemId=11", "/evidence", "/windows?itemId=11",
			"/position?limit=0", "/orders/status?files=-1", "/items/none/summary", "/items/0/summary", "/items/11/summary?itemId=11", "/items/11/summary?merchant=M",
		} {
			over, got := agent.get("/ext/v1"+question), agent.refusedRead("svc://ext/v1"+question)
			var want object
			must.Do(t, json.Unmarshal([]byte(over.body), &want))
			if diff := cmp.Diff(want, got.Error.Data); diff != "" || over.status != 400 || got.Error.Code != -32602 || got.Error.Message != want["detail"] {
				t.Errorf("%s: REST %d, code %d, %q: %s", question, over.status, got.Error.Code, got.Error.Message, diff)
			}
		}
		for _, uri := range []string{"svc://ext/v1/sites/status?site=%zz", "svc://ext/v1/overview?ownMerchant=Händler", "svc://ext/v1/overview?ownMerchant=A B"} {
			if r := agent.refusedRead(uri); r.Error.Code != -32602 || r.Error.Data["code"] != "MVP_VALIDATION_ERROR" || !strings.Contains(r.Error.Message, "percent-encod") {
				t.Errorf("%s: %+v", uri, r.Error)
			}
		}
		if r := agent.refusedRead("svc://ext/v1/items/11/summary?includeRows=true"); r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "stream") {
			t.Errorf("rows: %+v", r.Error)
		}
	}
}

// Whatever is no such read is no resource, and nothing of it is in a list.
func TestNoExtendedRead(t *testing.T) {
	a := newAgents(t, newMarket())
	for _, agent := range both(a) {
		for _, path := range []string{
			"", "/", "/nothing", "/sites", "/sites/status/", "//sites/status", "/sites/status#x", "/changes", "/alerts", "/explain?path=/v1/sites", "/lookup", "/items/11", "/items//x",
			"/items/%7BitemId%7D/summary/", "/items/11/summary/x", "/../v1/sites", "/SITES/STATUS", "/sites%2Fstatus%00",
		} {
			if r := agent.refusedRead("svc://ext/v1" + path); r.Error.Code != -32602 || r.Error.Data["detail"] != nil && r.Error.Data["code"] != wire.CodeNotFound {
				t.Errorf("%s: %+v", path, r.Error)
			}
		}
		for _, uri := range []string{"svc://ext/v2/sites/status", "svc://ext/sites/status", "svc://ext/v1", "svc://x@ext/v1/sites/status"} {
			if r := agent.refusedRead(uri); r.Error.Code != -32602 {
				t.Errorf("%s: %+v", uri, r.Error)
			}
		}
		for method, want := range map[string]int{"resources/list": 3, "resources/templates/list": 3} {
			answer := agent.send(method, nil)
			if n := strings.Count(answer.body, `"svc://`); n != want || strings.Contains(answer.body, "svc://ext") {
				t.Errorf("%s: %d addresses: %s", method, n, answer.body)
			}
		}
	}
}

// They take what they take in REST: a permission, and one of the account's
// places for heavy reads.
func TestExtendedReadsAreAdmitted(t *testing.T) {
	a := newAgents(t, newMarket(), func(s *agentSettings) { s.throttle.HeavyAtOnce = 1 })
	may, mayNot := a.agent(whole), a.agent(sitesOnly)
	for _, question := range []string{
		"/statistics?itemId=11", "/position", "/movers?itemId=11&since=2026-11-01", "/windows?itemId=11&capturedFrom=2026-11-01",
		"/evidence?itemId=11&site=shop-one&capturedAt=2026-11-01T00:00:00Z", "/sites/status", "/orders/status", "/overview", "/items/11/summary",
	} {
		answer := mayNot.send("resources/read", object{"uri": "svc://ext/v1" + question})
		if r := answer.reply(t); answer.status != 403 || r.Error == nil || r.Error.Code != 403 || r.Error.Data["code"] != "AUTH_FORBIDDEN" {
			t.Errorf("%s: %d %s", question, answer.status, answer.body)
		}
		release := must.Get(a.auth.Throttle().Heavy(whole))(t)
		answer = may.send("resources/read", object{"uri": "svc://ext/v1" + question})
		release()
		if r := answer.reply(t); answer.status != 429 || r.Error == nil || r.Error.Data["code"] != "RATE_LIMIT_EXCEEDED" || answer.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", question, answer.status, answer.body)
		}
	}
}

// LIM-02a: an answer that does not fit is refused with both sizes.
func TestExtendedReadTooLarge(t *testing.T) {
	d := newDemo(t, func(s *agentSettings) { s.mcp.MaxBodyBytes, s.mcp.MaxResponseBytes = 64<<10, 64<<10+800<<10 })
	agent := d.agents.agent(d.account)
	question := "/statistics?orderId=" + d.order(askedOrder).OrderID.String() + "&by=product&bucket=hour&limit=10000&capturedFrom=" + d.now.AddDate(0, 0, -7).Format(time.RFC3339) + "&capturedTo=" + d.now.Format(time.RFC3339)
	if over := agent.get("/ext/v1" + question); over.status != 200 || len(over.body) < 1<<20 {
		t.Fatalf("REST %d, %d bytes: %.300s", over.status, len(over.body), over.body)
	}
	if r := agent.refusedRead("svc://ext/v1" + question); r.Error.Code != -32602 || r.Error.Data["code"] != "RESPONSE_TOO_LARGE" || !strings.Contains(r.Error.Message, "bytes") {
		t.Errorf("%+v", r.Error)
	}
}
