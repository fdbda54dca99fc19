package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
	"preismon/ingest/market"
)

// clients: third-party programs use the service, each as its authors intend.
// They share a person with a browser, played by Chromium.
func (d *demoTest) clients(t *testing.T) {
	effort.Full(t, "clients of others' making, whose person is a browser")
	c := &clientsTest{demoTest: d, scripts: tools.Scripts(t, "testdata/clients"), browser: tools.Chromium(t)}
	c.person = c.account(t, "anna")
	t.Run("go", c.goClient)
	if c.token == "" {
		t.Fatal("no token: the other clients cannot begin")
	}
	for name, run := range map[string]func(*testing.T){
		"versions":             c.versions,
		"typescript":           c.typescript,
		"openid-client":        c.openidClient,
		"mcp-remote":           c.remote,
		"inspector":            c.inspector,
		"conformance":          c.conformance,
		"authorization server": c.authorizationServer,
		"REST":                 c.notOfREST,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}

type clientsTest struct {
	*demoTest
	scripts, browser string
	person           market.DemoAccount
	token            string // the one that the Go client received
}

// script runs one of our scripts with settings, and reads its report.
func (c *clientsTest) script(t *testing.T, name string, settings map[string]any, report any) {
	t.Helper()
	all := map[string]any{"login": c.person.LoginIdentifier, "password": c.person.Password, "browser": c.browser}
	maps.Copy(all, settings)
	text, err := json.Marshal(all)
	if err != nil {
		t.Error(err)
		return
	}
	run := tools.Node(t, filepath.Join(c.scripts, name), string(text))
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, stderr.String())
		return
	}
	if err := json.Unmarshal(out, report); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// held checks every exchange with /mcp against the contract.
func (c *clientsTest) held(t *testing.T) http.RoundTripper {
	return openapitest.Transport(http.DefaultTransport, func(err error) { t.Error(err) })
}

// What the surface offers.
var (
	knownTools = []string{ // TOOL-01c
		"describe_results_contract", "download_order_export_file", "download_order_import_file", "get_market_price_position",
		"get_order_detail", "list_items", "list_order_observation_quality", "list_orders", "list_results", "list_sites",
	}
	knownPrompts = []string{ // PROM-01
		"analyze-buybox", "analyze-market-price-position", "check-price-availability", "inspect-observation", "review-observed-shops",
	}
	knownResources = []string{ // RSRC-01
		"svc://reference/asin-locales", "svc://reference/results-contract", "svc://reference/sites",
	}
	knownTemplates = []string{"svc://items/{itemId}", "svc://orders/{orderId}", "svc://sites/{site}"} // RSRC-02
)

// offer is what a client has found.
type offer struct {
	Tools, Prompts, Resources, Templates []string
}

// check: the lists are complete, and the same for every client.
func (o offer) check(t *testing.T) {
	t.Helper()
	if tools := keysOf(setOf(o.Tools)); len(o.Tools) != 14 || len(tools) != 14 || len(setOf(append(tools, knownTools...))) != 14 { // TOOL-01a, TOOL-01c
		t.Errorf("%d tools: %q", len(o.Tools), o.Tools)
	}
	for what, lists := range map[string][2][]string{
		"prompts": {o.Prompts, knownPrompts}, "resources": {o.Resources, knownResources}, "templates": {o.Templates, knownTemplates},
	} {
		if diff := cmp.Diff(lists[1], keysOf(setOf(lists[0]))); diff != "" || len(lists[0]) != len(lists[1]) {
			t.Errorf("%s %q (-want +got):\n%s", what, lists[0], diff)
		}
	}
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

// checkSites: list_sites returns what REST does (GEN-05).
func (c *clientsTest) checkSites(t *testing.T, text string) {
	t.Helper()
	var got struct {
		Data []struct {
			Site string `json:"site"`
		} `json:"data"`
	}
	equals.NoError(t, json.Unmarshal([]byte(text), &got), "%.300s", text)
	sites := map[string]bool{}
	for _, s := range got.Data {
		sites[s.Site] = true
	}
	equals.Checkf(t, listAll(t, c.client(t, "anna"), "/v1/sites", "site"), keysOf(sites), "sites (-REST +MCP)")
}

// notOfREST: the token of a client opens nothing but /mcp (AUTH-06), and no
// other token opens /mcp (MCP-08).
func (c *clientsTest) notOfREST(t *testing.T) {
	a := c.up.client()
	a.t = t
	a.token = c.token
	if status, body := a.get("/v1/sites", nil); status != http.StatusUnauthorized {
		t.Errorf("GET /v1/sites: %d %s", status, body)
	}
	equals.Is(t, http.StatusBadRequest, c.post(t, "/v1/auth/logout", c.token, ""), "logout")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for token, want := range map[string]int{c.token: http.StatusOK, c.client(t, "anna").token: http.StatusUnauthorized, "": http.StatusUnauthorized} {
		equals.Is(t, want, c.post(t, "/mcp", token, ping), "POST /mcp")
	}
}

func (c *clientsTest) post(t *testing.T, path, token, body string) (status int) {
	t.Helper()
	to := caller.Client{HTTP: http.DefaultClient, URL: c.up.URL, Token: token}
	return must.Get(to.Post(t.Context(), path, []byte(body)))(t).StatusCode
}
