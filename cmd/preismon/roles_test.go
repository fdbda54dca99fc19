package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
	"preismon/ingest/market"
	"preismon/query/auth"
)

// role is a process of one role alongside the test.
type role struct {
	*process.Role
	t *testing.T
}

// startRole starts a role and waits until it logs its addresses.
func startRole(t *testing.T, args ...string) *role {
	t.Helper()
	return startRoleWith(t, nil, args...)
}

// startRoleWith starts it with environment variables.
func startRoleWith(t *testing.T, env []string, args ...string) *role {
	t.Helper()
	r := &role{process.New(t, args...), t}
	r.Env = append(env, commandVariable+"=role")
	must.Do(t, r.Start())
	return r
}

// statements returns how many statements a query node has sent to ClickHouse.
func (r *role) statements() (sum float64) {
	for name, n := range r.Metrics() {
		if strings.HasPrefix(name, "preismon_store_statements_total{") {
			sum += n
		}
	}
	return sum
}

// metric returns a metric, or "" if it does not exist.
func (r *role) metric(name string) string {
	_, text := r.Ask("/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// check returns what /readyz reports about one condition.
func (r *role) check(name string) string {
	_, body := r.Ask("/readyz")
	var answer struct{ Checks map[string]string }
	equals.NoError(r.t, json.Unmarshal([]byte(body), &answer), "/readyz of %s: %s", r.Args[0], body)
	return answer.Checks[name]
}

// terminate stops it as an orchestrator does.
func (r *role) terminate() {
	r.t.Helper()
	began := time.Now()
	if err := r.Stop(); err != nil || time.Since(began) > 10*time.Second {
		r.t.Errorf("%s: %v, %v after SIGTERM", r.Args[0], err, time.Since(began))
	}
}

// TestRoles runs every role as a separate process against external servers:
// migrate, two projectors, ingest, two query nodes.
func TestRoles(t *testing.T) {
	t.Parallel()
	ch, nats := testserver.ClickHouse(t), testserver.NATS(t)
	db := database(t, ch.AdminDSN)
	m, catalogue, observations := aMarket(t, market.Config{Seed: 7, Scale: 0.5}, 4*time.Hour)
	dir := t.TempDir()

	projectorArgs := []string{"projector", "--nats-url", nats, "--clickhouse-dsn", ch.ProjectorDSN, "--admin-listen", "127.0.0.1:0", "--lease-ttl", "3s"}
	projectors := []*role{startRole(t, projectorArgs...)}
	must.Eventually(t, time.Minute, "a projector without tables says what to run", func() bool {
		return !projectors[0].Ready() && strings.Contains(projectors[0].check("tables"), "run `preismon migrate`")
	})
	bucket, s3 := bucketURL(t, false)
	shelf := t.TempDir()
	for range 2 { // it makes the bucket, which no other role may
		out, errs, code := inProcess(t, "migrate", "--clickhouse-dsn", ch.AdminDSN, "--archive", bucket, "--archive", shelf)
		if code != 0 || !strings.HasPrefix(out, "The schema is at version ") {
			t.Fatalf("migrate: exit code %d: %s%s", code, out, errs)
		}
	}

	publish := func(name string, events []*event.Event) {
		t.Helper()
		var text bytes.Buffer
		ndjson(t, &text, events)
		out, errs, code := inProcess(t, "ingest", "--nats-url", nats, "--rejects", filepath.Join(dir, "rejects"), file(t, name, text.String()))
		if want := fmt.Sprintf("accepted %s, duplicates 0, rejected 0", thousands(len(events))); code != 0 || !strings.HasPrefix(out, want) {
			t.Fatalf("ingest: exit code %d: %s%s", code, out, errs)
		}
	}
	projectors = append(projectors, startRole(t, projectorArgs...))
	leader := func() (i int) {
		must.Eventually(t, time.Minute, "one projector leads", func() bool {
			i = slices.IndexFunc(projectors, func(r *role) bool { return alive(r.PID()) && r.metric("preismon_projector_leader") == "1" })
			return i >= 0
		})
		return i
	}
	first := leader()
	if projectors[1-first].metric("preismon_projector_leader") != "0" {
		t.Error("both projectors lead")
	}
	half := len(observations) / 2
	publish("first.ndjson", slices.Concat(catalogue, observations[:half]))

	// Two nodes of the query service with the same keys and archives.
	folder := must.Get(archive.NewDir(shelf))(t)
	defer folder.Close() //nolint:errcheck // its files are written
	putFiles(t, m, s3, folder)
	key := filepath.Join(dir, "token.pem")
	must.Do(t, auth.EnsureKey(key))
	queryArgs := []string{
		"query", "--nats-url", nats, "--clickhouse-dsn", ch.QueryDSN, "--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4),
		"--base-url", "https://prices.example.com", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--logins-per-minute", "1000",
		"--archive", bucket, "--archive", shelf,
	}
	nodes := []*role{startRole(t, queryArgs...), startRole(t, queryArgs...)}
	for _, n := range nodes {
		must.Eventually(t, time.Minute, "the query node is ready", n.Ready)
	}
	at := func(n *role, c *api) *api {
		return &api{t: t, url: n.URL(), http: http.DefaultClient, token: c.token}
	}

	// The leader is killed in the middle of its work; the other one takes over.
	projectors[first].Signal(syscall.SIGKILL)
	killed := time.Now()
	publish("second.ndjson", observations[half:])
	<-projectors[first].Ended()
	if second := leader(); second == first {
		t.Error("the killed projector leads")
	}
	t.Logf("the standby took over %v after the kill", time.Since(killed).Round(time.Millisecond))
	waitApplied(t, nats)
	settle(t, db)
	rows := exact(t, db, slices.Values(observations), chain())
	noDoubles(t, db)
	t.Logf("%d events, %d rows", len(catalogue)+len(observations), rows)

	// What went in comes out, on both nodes, within the package (VIS-01b): the
	// order of the small account has more items than it booked.
	world := catalogOf(m)
	for _, a := range m.Accounts() {
		name, _, _ := strings.Cut(a.LoginIdentifier, "@")
		if name != "hanna" && name != "anna" {
			continue
		}
		c := at(nodes[0], &api{}).login(a.LoginIdentifier, a.Password)
		items := map[string]bool{}
		for p := range world.visible(a.LoginIdentifier) {
			items[p.Item.String()] = true
		}
		for i, n := range nodes {
			if got := listAll(t, at(n, c), "/v1/items", "itemId"); !slices.Equal(got, keysOf(items)) {
				t.Errorf("node %d shows %s %d items, want %d", i, name, len(got), len(items))
			}
		}
		if ordered := len(world.orders[world.accounts[a.LoginIdentifier].MandateID][0].Items); name == "hanna" && (len(items) != 10 || ordered <= 10) {
			t.Errorf("a package of 10 items shows %d of %d", len(items), ordered)
		}
	}

	// Repeated reads of unchanged data cost no statement, because the
	// projectors have announced that they write nothing. Checkpoints are still
	// read four times a second.
	quiet := at(nodes[0], at(nodes[0], &api{}).login(m.Accounts()[0].LoginIdentifier, m.Accounts()[0].Password))
	quiet.get("/v1/sites", nil)
	const hot = 200
	before, began := nodes[0].statements(), time.Now()
	for range hot {
		if status, body := quiet.get("/v1/sites", nil); status != http.StatusOK {
			t.Fatalf("sites: %d: %s", status, body)
		}
	}
	took := time.Since(began)
	if sent := nodes[0].statements() - before; sent > 3+5*took.Seconds() {
		t.Errorf("%v statements for %d requests of sites in %v, though nothing was written", sent, hot, took)
	}

	// Those of rows cost none either while rows of something else arrive, after
	// another leader has taken over, too.
	pairs := slices.SortedFunc(maps.Keys(world.visible(m.Accounts()[0].LoginIdentifier)), contracts.Pair.Compare)
	watched, other := pairs[0], pairs[len(pairs)-1]
	latest := func(of contracts.Pair) string {
		status, body := quiet.get("/v1/results", url.Values{"itemId": {of.Item.String()}, "latestPerPair": {"true"}})
		equals.Is(t, http.StatusOK, status, "%s", body)
		return string(body)
	}
	arrive := func(of contracts.Pair) {
		now := time.Now().UTC()
		publish("one.ndjson", []*event.Event{{ID: uuid.NewString(), Kind: event.KindObservations, Producer: "test", ProducedAt: now, Data: &contracts.Observations{
			Site: of.Site, Observations: []contracts.Observation{{ItemID: of.Item, CapturedAt: now, Outcome: contracts.Unavailable}},
		}}})
		waitApplied(t, nats)
	}
	const reads = `preismon_store_statements_total{result="ok",statement="results"}`
	arrive(other) // from here on the node knows what arrives
	was := latest(watched)
	sent := nodes[0].Metrics()[reads]
	for range 3 {
		arrive(other)
		equals.Is(t, was, latest(watched), "the rows of a product, nothing of which arrived")
	}
	equals.Is(t, sent, nodes[0].Metrics()[reads], "statements for it")
	arrive(watched)
	if now := latest(watched); now == was || nodes[0].Metrics()[reads] == sent {
		t.Errorf("a row arrived, and the answer is still %s", now)
	}

	// The files, which are spread over the archives, are available at either
	// node.
	for i, login := range []string{"anna", "frida"} {
		a := m.Accounts()[slices.IndexFunc(m.Accounts(), func(a market.DemoAccount) bool { return strings.HasPrefix(a.LoginIdentifier, login+"@") })]
		c := at(nodes[i], at(nodes[i], &api{}).login(a.LoginIdentifier, a.Password))
		files, lost := wantFiles(t, c, m, world.accounts[a.LoginIdentifier].MandateID)
		if t.Logf("%s: %d files, %d of them lost", login, files, lost); files < 10 || (lost > 0) != (login == "frida") {
			t.Errorf("%s: %d files, %d of them lost", login, files, lost)
		}
	}

	// A token revoked at one node is refused at the other within a second
	// (AUTH-L1, AUTH-05), and another token of the account is not.
	anna := m.Accounts()[0]
	one := at(nodes[0], &api{}).login(anna.LoginIdentifier, anna.Password)
	two := at(nodes[1], &api{}).login(anna.LoginIdentifier, anna.Password)
	if status, body := at(nodes[1], one).get("/v1/sites", nil); status != http.StatusOK {
		t.Fatalf("before: %d %s", status, body)
	}
	out := must.Get(one.at().Post(t.Context(), "/v1/auth/logout", nil))(t)
	if out.StatusCode != http.StatusOK || !strings.Contains(string(out.Text), `"revoked":true`) {
		t.Fatalf("logout: %d %s", out.StatusCode, out.Text)
	}
	revoked := time.Now()
	must.Eventually(t, time.Second, "the second node refuses the token", func() bool {
		status, _ := at(nodes[1], one).get("/v1/sites", nil)
		return status == http.StatusUnauthorized
	})
	t.Logf("refused at the second node after %v", time.Since(revoked).Round(time.Millisecond))
	for i, n := range nodes {
		if status, _ := at(n, one).get("/v1/sites", nil); status != http.StatusUnauthorized {
			t.Errorf("node %d answers %d to a revoked token", i, status)
		}
		if status, _ := at(n, two).get("/v1/sites", nil); status != http.StatusOK {
			t.Errorf("node %d answers %d to the account's other token", i, status)
		}
	}

	for _, r := range append(nodes, projectors[1-first]) {
		r.terminate()
	}
}

// waitApplied waits until the projector has applied everything that is in the
// streams.
func waitApplied(t *testing.T, address string) {
	t.Helper()
	b := must.Get(connect(ingest.Config{URL: address, Name: t.Name()}))(t)
	defer b.conn.Close()
	must.Do(t, ingest.WaitApplied(t.Context(), b.js, 1))
}
