package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// oldSchema is the version that TestMigrateWhileServing begins with: it has
// accounts, and its orders lack columns that are read today.
const oldSchema = 8

const migrateAdvice = "run `preismon migrate`"

// TestMigrateWhileServing: a query node and a projector of today start on the
// tables of an older version. They refuse, wait, and say what to run; two
// migrations run side by side under them; they come ready by themselves, and
// what was in the tables is answered. Tables of a newer version are no harm to
// those who run.
func TestMigrateWhileServing(t *testing.T) {
	testserver.Full(t, "migration under way")
	t.Parallel()
	server, nats := testserver.ClickHouse(t), testserver.NATS(t)
	db := database(t, server.AdminDSN)
	golden, err := os.ReadFile(filepath.Join(rootFolder, "projector", "schema", "testdata", "past", fmt.Sprintf("%04d.sql", oldSchema)))
	if err != nil {
		t.Fatal(err)
	}
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(string(golden)), ";"), ";\n\n") {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(t.TempDir(), "token.pem")
	if err := auth.EnsureKey(key); err != nil {
		t.Fatal(err)
	}
	queryArgs := []string{
		"query", "--nats-url", nats, "--clickhouse-dsn", server.QueryDSN, "--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4),
		"--base-url", "https://prices.example.com", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--reads-per-minute", "100000",
	}
	projectorArgs := []string{"projector", "--nats-url", nats, "--clickhouse-dsn", server.ProjectorDSN, "--admin-listen", "127.0.0.1:0"}
	node, projector := startRole(t, queryArgs...), startRole(t, projectorArgs...)
	c := &api{t: t, url: "http://" + node.listen, http: http.DefaultClient, token: pastToken(t, key)}

	// Before: both say what to run, and neither is ready.
	for r, check := range map[*role]string{node: "schema", projector: "tables"} {
		eventually(t, time.Minute, r.name+" says what to run", func() bool {
			return !r.ready() && strings.Contains(r.check(check), "it has version 8 and this program needs "+fmt.Sprint(schema.Version())+"; "+migrateAdvice)
		})
	}
	if leads := projector.metric("preismon_projector_leader"); leads != "0" {
		t.Errorf("a projector that waits leads: %s", leads)
	}
	if status, text := logIn(t, c); status != http.StatusServiceUnavailable || !strings.Contains(text, "preismon migrate") {
		t.Errorf("a login before the migration: %d %s", status, text)
	}
	read := &migrationReaders{c: c, refused: map[string]int{}, answered: map[string]int{}, answers: map[string]map[string]bool{}}
	reading, stop := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer func() { stop(); beside.Wait() }()
	for _, path := range migrationReads {
		beside.Go(func() { read.again(reading, path) })
	}
	eventually(t, time.Minute, "every read is refused", func() bool { return read.each(read.refused) })
	if len(read.answered) > 0 {
		t.Errorf("answered before the migration: %v", read.answered)
	}

	// Two jobs at once, as an orchestrator may start them.
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			out, errs, code := preismon(t, nil, "migrate", "--clickhouse-dsn", server.AdminDSN)
			if want := fmt.Sprintf("The schema is at version %d.\n", schema.Version()); code != 0 || out != want {
				t.Errorf("migrate: exit code %d: %s%s", code, out, errs)
			}
		})
	}
	both.Wait()
	migrated := time.Now()

	// After: by themselves.
	for _, r := range []*role{node, projector} {
		eventually(t, time.Minute, r.name+" is ready by itself", r.ready)
		t.Logf("%s is ready %v after the migration", r.name, time.Since(migrated).Round(time.Millisecond))
	}
	eventually(t, time.Minute, "the projector leads", func() bool { return projector.metric("preismon_projector_leader") == "1" })
	eventually(t, time.Minute, "every read is answered", func() bool { return read.each(read.answered) })
	stop()
	beside.Wait()
	for _, path := range migrationReads {
		if answers := read.answers[path]; len(answers) != 1 {
			t.Errorf("%s: different answers: %v", path, answers)
		}
	}
	if status, text := logIn(t, c); status != http.StatusOK {
		t.Errorf("a login after the migration: %d %s", status, text)
	}
	past := []string{"1 alpha.example 19.99", "1 beta.example 21", "1 beta.example 22", "2 alpha.example -"}
	if d := cmp.Diff(past, c.prices()); d != "" {
		t.Errorf("what was in the tables (-want +got):\n%s", d)
	}
	observe(t, nats, 2600)
	c.shows(append(past, "2 beta.example 26"))

	// A program of a later version migrates, and is not rolled out yet.
	for _, q := range []string{
		"ALTER TABLE orders ADD COLUMN later String", "CREATE TABLE later (a UInt8) ENGINE = MergeTree ORDER BY a",
		"INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', '')",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	observe(t, nats, 2700)
	c.shows(append(past, "2 beta.example 26", "2 beta.example 27"))
	second := startRole(t, queryArgs...)
	for _, n := range []*role{node, second} {
		eventually(t, time.Minute, "the query node is ready on newer tables", n.ready)
		at := *c
		at.url = "http://" + n.listen
		if d := cmp.Diff(append(past, "2 beta.example 26", "2 beta.example 27"), at.prices()); d != "" {
			t.Errorf("on newer tables (-want +got):\n%s", d)
		}
	}
	if said := projector.check("tables"); !strings.Contains(said, "newer than this program") {
		t.Errorf("the projector says of newer tables: %s", said)
	}
	projector.terminate()
	if _, errs, code := preismon(t, nil, projectorArgs...); code != exitFailed || !strings.Contains(message(errs), "start the newer program") {
		t.Errorf("a projector that starts on newer tables: exit code %d: %s", code, errs)
	}
	node.terminate()
	second.terminate()
}

// check is what /readyz says of one condition.
func (r *role) check(name string) string {
	c := &api{t: r.t, url: "http://" + r.admin, http: http.DefaultClient}
	_, body := c.get("/readyz", nil)
	var answer struct{ Checks map[string]string }
	if err := json.Unmarshal(body, &answer); err != nil {
		r.t.Errorf("/readyz of %s: %s", r.name, body)
	}
	return answer.Checks[name]
}

// pastToken is a token of the account of the past golden, as an earlier login
// gave it.
func pastToken(t *testing.T, key string) string {
	t.Helper()
	keys, err := auth.ReadKeyring(key)
	if err != nil {
		t.Fatal(err)
	}
	throttle, err := auth.NewThrottle(auth.ThrottleDefaults(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	cfg := auth.Defaults()
	cfg.Issuer = "https://prices.example.com"
	authority, err := auth.New(cfg, auth.Deps{Keys: keys, Accounts: accounts{}, Revocations: noRevocations{}, Throttle: throttle, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	issued, _, err := authority.IssueREST(11)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Token.Reveal()
}

func logIn(t *testing.T, c *api) (status int, text string) {
	t.Helper()
	resp, err := c.http.Post(c.url+"/v1/auth/token", "application/json", strings.NewReader(`{"loginIdentifier":"past@example.com","password":"past password"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

const pastWindow = "/v1/results?orderId=101&capturedFrom=2026-10-01T00:00:00Z&capturedTo=2026-10-02T00:00:00Z"

var migrationReads = []string{"/v1/sites", "/v1/items", "/v1/orders", "/v1/orders/101", pastWindow}

// migrationReaders ask again and again. What is no refusal that says what to
// run is an answer; one that was answered is not refused later.
type migrationReaders struct {
	c *api

	mu                sync.Mutex
	refused, answered map[string]int
	answers           map[string]map[string]bool // status and body, by path
}

func (r *migrationReaders) again(ctx context.Context, path string) {
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		status, body := r.c.get(path, nil)
		r.mu.Lock()
		if status == http.StatusServiceUnavailable && strings.Contains(string(body), "preismon migrate") {
			if r.refused[path]++; r.answered[path] > 0 {
				r.c.t.Errorf("%s: refused after it was answered", path)
			}
		} else {
			r.answered[path]++
			if r.answers[path] == nil {
				r.answers[path] = map[string]bool{}
			}
			r.answers[path][fmt.Sprintf("%d %s", status, body)] = true
		}
		r.mu.Unlock()
	}
}

// each tells whether every path was counted.
func (r *migrationReaders) each(counted map[string]int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(counted) == len(migrationReads)
}

// prices are the results of the window, sorted.
func (a *api) prices() []string {
	a.t.Helper()
	status, body := a.get(pastWindow, nil)
	var page struct {
		Data []struct {
			ItemID, Site string
			Price        *float64
		}
	}
	if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
		a.t.Fatalf("%s: %d %s %v", pastWindow, status, body, err)
	}
	var all []string
	for _, r := range page.Data {
		price := "-"
		if r.Price != nil {
			price = fmt.Sprint(*r.Price)
		}
		all = append(all, r.ItemID+" "+r.Site+" "+price)
	}
	slices.Sort(all)
	return all
}

// shows waits until the results of the window are these: a projector applies
// what was published.
func (a *api) shows(want []string) {
	a.t.Helper()
	eventually(a.t, 30*time.Second, fmt.Sprintf("the results are %v", want), func() bool { return slices.Equal(want, a.prices()) })
}

// observe publishes a price of an item that was never seen at a site.
func observe(t *testing.T, nats string, price int64) {
	t.Helper()
	at := time.Date(2026, 10, 1, 12, 0, 0, int(price)*int(time.Millisecond), time.UTC)
	var text bytes.Buffer
	ndjson(t, &text, []*event.Event{{
		ID: fmt.Sprintf("00000000-0000-4000-a000-%012d", price), Kind: event.KindObservations, ProducedAt: at,
		Data: &contracts.Observations{Site: "beta.example", Observations: []contracts.Observation{{
			ItemID: 2, CapturedAt: at, Outcome: contracts.PriceObserved, Offers: []contracts.Offer{{Price: &price, CurrencyCode: "EUR", Merchant: "D"}},
		}}},
	}})
	out, errs, code := preismon(t, nil, "ingest", "--nats-url", nats, "--rejects", filepath.Join(t.TempDir(), "rejects"), file(t, "one.ndjson", text.String()))
	if code != 0 || !strings.HasPrefix(out, "accepted 1,") {
		t.Fatalf("ingest: exit code %d: %s%s", code, out, errs)
	}
}
