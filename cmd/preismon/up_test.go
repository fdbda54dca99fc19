package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// demoArgs start a small market whose logins are not throttled, because all of
// them come from one address here.
var demoArgs = []string{"--demo", "--demo-scale", "0.05", "--logins-per-minute", "1000", "--reads-per-minute", "100000"}

// TestUpDemo is the main scenario: from an empty folder to answers, and again
// from the folder that it left.
func TestUpDemo(t *testing.T) {
	t.Parallel()
	traces := collect(t)
	u := startUp(t, append([]string{"--trace-endpoint", traces.URL, "--trace-sample", "1"}, demoArgs...)...)
	t.Logf("ready after %v", u.Ready)
	demo := newDemoTest(t, u)
	demo.traces = traces
	t.Run("page", demo.page)
	t.Run("observed", demo.observed)
	t.Run("accounts file", demo.accountsFile)
	t.Run("accounts", demo.whatTheySee)
	t.Run("sharing", demo.sharing)
	t.Run("files", demo.files)
	t.Run("refused", demo.refused)
	t.Run("rows", demo.rows)
	t.Run("postman", demo.postman)
	t.Run("generated", demo.generated)
	t.Run("clients", demo.clients)
	t.Run("commands", demo.commands)
	t.Run("readme", demo.readme)
	for _, explorer := range []struct {
		name string
		test func(*testing.T)
	}{
		{"explorer", demo.explorer},
		{"explorer ink", demo.explorerInk},
		{"explorer live", demo.explorerLive},
		{"explorer requests", demo.explorerRequests},
		{"explorer pages", demo.explorerPages},
		{"explorer tasks", demo.explorerTasks},
	} {
		t.Run(explorer.name, func(t *testing.T) {
			effort.Full(t, "pages in a browser") // before the reads that choose what it opens
			explorer.test(t)
		})
	}
	t.Run("live", demo.live)
	t.Run("admin", demo.admin)
	t.Run("trace", demo.trace)
	t.Run("again", demo.restart)
}

type demoTest struct {
	up       *upProcess
	market   *market.Market
	state    demoState
	accounts []market.DemoAccount
	tokens   map[string]string // by account
	traces   *collector        // nil: traces are not collected
}

// newDemoTest reads what a demo left in its folder.
func newDemoTest(t *testing.T, u *upProcess) *demoTest {
	t.Helper()
	state := demoOf(t, u.DataDir)
	demo := &demoTest{up: u, market: marketOf(t, state), state: state, tokens: map[string]string{}}
	text := must.Get(os.ReadFile(filepath.Join(u.DataDir, demoAccountsFile)))(t)
	must.Do(t, json.Unmarshal(text, &demo.accounts))
	return demo
}

// client logs in to a demo account, by the name before the @.
func (d *demoTest) client(t *testing.T, name string) *api {
	t.Helper()
	a := d.account(t, name)
	c := d.up.client()
	c.t = t
	if c.token = d.tokens[name]; c.token == "" {
		c = c.login(a.LoginIdentifier, a.Password)
		d.tokens[name] = c.token
	}
	return c
}

func (d *demoTest) account(t *testing.T, name string) market.DemoAccount {
	t.Helper()
	i := slices.IndexFunc(d.accounts, func(a market.DemoAccount) bool { return strings.HasPrefix(a.LoginIdentifier, name+"@") })
	if i < 0 {
		t.Fatalf("no demo account %s", name)
	}
	return d.accounts[i]
}

// page: what is printed can be used unchanged.
func (d *demoTest) page(t *testing.T) {
	out := d.up.stdout.String()
	contains(t, out, d.up.URL, d.up.AdminURL, filepath.Join(d.up.DataDir, demoAccountsFile), "simulated")
	for _, a := range d.accounts {
		contains(t, out, a.LoginIdentifier, a.Password, a.Sees)
	}
	if last := strings.TrimSuffix(out[strings.LastIndex(strings.TrimSuffix(out, "\n"), "\n")+1:], "\n"); !strings.HasPrefix(last, "ready") {
		t.Errorf("the last line is %q", last)
	}
	lines := regexp.MustCompile(`(?m)^ +(\S.*curl .*)$|^ +(curl .*)$`).FindAllString(out, -1)
	if len(lines) != 3 {
		t.Fatalf("%d lines with curl, want 3:\n%s", len(lines), out)
	}
	// Pasted: all lines in order in one shell. Each prints a page of JSON.
	cmd := exec.Command("bash", "-e", "-c", strings.Join(lines, "\necho\n")+"\necho")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pasted, err := cmd.Output()
	if err != nil {
		t.Fatalf("pasted: %v %s", err, stderr.String())
	}
	var pages []int
	for line := range strings.Lines(string(pasted)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var page struct {
			Data []json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("pasted, curl says %s: %v", line, err)
		}
		pages = append(pages, len(page.Data))
	}
	if !slices.Equal(pages, []int{8, 3}) { // the sites of the first account; limit=3
		t.Errorf("pasted, the pages have %v records", pages)
	}
}

func (d *demoTest) accountsFile(t *testing.T) {
	name := filepath.Join(d.up.DataDir, demoAccountsFile)
	info := must.Get(os.Stat(name))(t)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", name, info.Mode())
	}
	text := must.Get(os.ReadFile(name))(t)
	var all []map[string]string
	must.Do(t, json.Unmarshal(text, &all))
	mandates := map[string]bool{}
	for _, a := range all {
		mandates[a["mandate"]] = true
		for _, field := range []string{"loginIdentifier", "password", "mandate", "sees"} {
			if a[field] == "" || len(a) != 4 {
				t.Errorf("account %v, want the four fields and no other", a)
			}
		}
	}
	if len(all) < 5 || len(mandates) < 3 {
		t.Errorf("%d accounts of %d mandates", len(all), len(mandates))
	}
}

func keysOf(m map[string]bool) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sharing: two mandates that share items share nothing else (VIS-02, VIS-05).
func (d *demoTest) sharing(t *testing.T) {
	world := catalogOf(d.market)
	anna, frida := d.client(t, "anna"), d.client(t, "frida")
	mine, theirs := listAll(t, anna, "/v1/items", "itemId"), listAll(t, frida, "/v1/items", "itemId")
	shared := slices.DeleteFunc(slices.Clone(mine), func(id string) bool { return !slices.Contains(theirs, id) })
	if len(shared) < 2 {
		t.Fatalf("anna and frida share %d items", len(shared))
	}
	owners := map[string]string{}
	for _, orders := range world.orders {
		for _, o := range orders {
			owners[o.OrderID.String()] = world.mandates[o.MandateID].Name
		}
	}
	// The first items of a mandate have reference prices of each kind.
	references := map[*api]map[string]string{anna: {}, frida: {}}
	for c, login := range map[*api]string{anna: "anna", frida: "frida"} {
		mandate := d.account(t, login).Mandate
		for _, id := range shared {
			status, body := c.get("/v1/results", url.Values{
				"itemId": {id}, "limit": {"50"}, "includeOrderIds": {"true"}, "includeCustomerData": {"true"}, "includeExportFields": {"true"},
			})
			var page struct {
				Data []map[string]json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil || len(page.Data) == 0 {
				t.Fatalf("results of the shared item %s for %s: %d %.300s %v", id, login, status, body, err)
			}
			for _, r := range page.Data {
				var orders []string
				if err := json.Unmarshal(r["orderIds"], &orders); err != nil || len(orders) == 0 {
					t.Fatalf("orderIds %s: %v", r["orderIds"], err)
				}
				for _, o := range orders {
					if owners[o] != mandate {
						t.Errorf("%s sees order %s of %s", login, o, owners[o])
					}
				}
				delete(r, "orderIds")
				for _, field := range []string{"capturedAt", "itemId", "site", "url", "title"} {
					delete(r, field)
				}
				references[c][id] += string(r["referencePrice"]) + string(r["customerData"]) + string(r["exportFields"])
			}
		}
	}
	if cmp.Equal(references[anna], references[frida]) {
		t.Errorf("reference prices and customer data of two mandates are the same: %v", references[anna])
	}
	foreign := slices.DeleteFunc(slices.Clone(theirs), func(id string) bool { return slices.Contains(mine, id) })[0]
	if status, body := anna.get("/v1/results", url.Values{"itemId": {foreign}, "limit": {"5"}}); status != http.StatusOK || !bytes.Contains(body, []byte(`"data":[]`)) {
		t.Errorf("results of a foreign item: %d %.300s", status, body)
	}
}

// refused: an administrative account gets the same answer as a wrong password
// (AUTH-04, AUTH-T7e).
func (d *demoTest) refused(t *testing.T) {
	admin, anna := d.account(t, "admin"), d.account(t, "anna")
	answers := map[string]string{}
	for what, credentials := range map[string][2]string{
		"administrative": {admin.LoginIdentifier, admin.Password},
		"wrong password": {anna.LoginIdentifier, admin.Password},
		"unknown login":  {"nobody@example.com", admin.Password},
	} {
		a := must.Get(d.up.client().at().Post(t.Context(), caller.LoginPath, caller.LoginBody(credentials[0], credentials[1])))(t)
		if a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, a.StatusCode)
		}
		var problem map[string]any
		equals.NoError(t, json.Unmarshal(a.Text, &problem), "%s: %s", what, a.Text)
		for _, own := range []string{"instance", "requestId"} {
			delete(problem, own)
		}
		rest, _ := json.Marshal(problem)
		answers[what] = string(rest)
	}
	if answers["administrative"] != answers["wrong password"] || answers["unknown login"] != answers["wrong password"] {
		t.Errorf("the refusals differ: %v", answers)
	}
}

// rows: currencies with no, two and three decimals, and outcomes without a
// price, are distinguished (GEN-G5).
func (d *demoTest) rows(t *testing.T) {
	to := time.Now().UTC()
	currencies, without := map[string]int{}, map[string]int{}
	for _, r := range results(t, d.client(t, "anna"), to.Add(-168*time.Hour), to) {
		if r.PriceMoney == nil {
			without[r.Availability]++
			if r.Price != "" {
				t.Errorf("a price without money: %+v", r)
			}
			continue
		}
		currencies[r.PriceMoney.CurrencyCode]++
		want := decimalText(r.PriceMoney.AmountMinor, r.PriceMoney.CurrencyCode)
		var a, b float64
		if _, err := fmt.Sscan(r.Price.String()+" "+want, &a, &b); err != nil || a != b {
			t.Errorf("%d minor units of %s are shown as %s, want %s", r.PriceMoney.AmountMinor, r.PriceMoney.CurrencyCode, r.Price, want)
		}
	}
	for _, c := range []string{"EUR", "JPY", "KWD"} {
		if currencies[c] == 0 {
			t.Errorf("no price in %s: %v", c, currencies)
		}
	}
	if without["UNAVAILABLE"] == 0 || without["UNKNOWN"] == 0 {
		t.Errorf("outcomes without a price: %v", without)
	}
}

// live: a window that ends now gains rows.
func (d *demoTest) live(t *testing.T) {
	c := d.client(t, "anna")
	from := time.Now()
	must.Eventually(t, time.Minute, "new captures can be queried", func() bool {
		rows := results(t, c, from, time.Now())
		if len(rows) > 0 {
			t.Logf("the first row came %v after the window began", time.Since(from).Round(100*time.Millisecond))
		}
		return len(rows) > 0
	})
}

func (d *demoTest) admin(t *testing.T) {
	c := &api{t: t, url: d.up.AdminURL, http: http.DefaultClient}
	if status, body := c.get("/livez", nil); status != http.StatusOK {
		t.Errorf("livez: %d %s", status, body)
	}
	if status, body := c.get("/readyz", nil); status != http.StatusOK || !bytes.Contains(body, []byte(`"ready":true`)) {
		t.Errorf("readyz: %d %s", status, body)
	}
	_, metrics := c.get("/metrics", nil)
	contains(t, string(metrics), "preismon_projector_leader 1", "preismon_projector_dead_letters_total 0", "preismon_build_info{")
}

// restart: stopping with Ctrl-C loses nothing and takes seconds; the next start
// is quick, fills the time in between, and duplicates nothing. Tokens stay
// valid.
func (d *demoTest) restart(t *testing.T) {
	c := d.client(t, "anna")
	runtime := must.Get(embedded.ReadRuntime(d.up.DataDir))(t)
	c.get("/v1/sites", nil)
	began, spans := time.Now(), d.traces.all()
	d.up.interrupt()
	equals.Is(t, 0, d.up.wait(), "exit code after Ctrl-C: %s", d.up.stderr)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	} else {
		t.Logf("stopped after %v", took)
	}
	if alive(runtime.ClickHouse) {
		t.Error("ClickHouse outlives the stop")
	}
	if _, err := embedded.ReadRuntime(d.up.DataDir); err == nil {
		t.Error("the folder still says that it is in use")
	}
	before := demoOf(t, d.up.DataDir)
	if before.Published.After(time.Now()) || before.Published.Before(began.Add(-10*time.Second)) {
		t.Errorf("stopped at %v, published until %v", began, before.Published)
	}
	if d.traces.all() <= spans {
		t.Errorf("%d spans before the stop, no more after: the last ones are lost", spans)
	}
	time.Sleep(time.Second) // a gap to fill

	// At the same address, so that the token still has the right issuer.
	u := startUp(t, append([]string{"--data-dir", d.up.DataDir, "--listen", strings.TrimPrefix(d.up.URL, "http://")}, demoArgs...)...)
	t.Logf("ready again after %v", u.Ready)
	if u.Ready > 30*time.Second { // 1 to 2 s on a quiet machine
		t.Errorf("the second start took %v", u.Ready)
	}
	after := demoOf(t, u.DataDir)
	if !after.Start.Equal(before.Start) || !after.Published.After(before.Published) {
		t.Errorf("the folder went on with %+v after %+v", after, before)
	}
	if status, body := c.get("/v1/sites", nil); status != http.StatusOK {
		t.Errorf("a token from before the stop: %d %s", status, body)
	}
	live := span{d.up.Started.Add(d.up.Ready + 2*time.Second), before.Published.Truncate(time.Second)}
	t.Logf("%d rows", exactDemo(t, u, live))
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")

	// Without --demo the market stands still, and the page says so.
	u = startUp(t, append([]string{"--data-dir", d.up.DataDir}, demoArgs[1:]...)...)
	if out := u.stdout.String(); !strings.Contains(out, "stands still without --demo. Its logins: "+filepath.Join(d.up.DataDir, demoAccountsFile)) || strings.Contains(out, "no accounts yet") {
		t.Errorf("without --demo the page is:\n%s", out)
	}
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")
}
