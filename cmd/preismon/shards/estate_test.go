package shards_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // to look into the tables
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
	"preismon/ingest/market"
	"preismon/query/auth"
)

// baseURL is the base URL of all nodes, whatever their ports are.
const baseURL = "http://127.0.0.1:1"

// leaseTTL is short, so that another leader takes over soon.
const leaseTTL = 2 * time.Second

// form is a complete preismon over n of the servers; with one, the single form.
type form struct {
	n          int
	database   string
	nats       string
	js         jetstream.JetStream
	publisher  *ingest.Publisher
	projectors []*process.Role
	nodes      []*process.Role
	tables     []*sql.DB // as the administrator, by shard
}

// shardCounts are the numbers of shards of an estate's forms.
var shardCounts = []int{1, 3}

// estate is a market in forms with one shard and with three.
type estate struct {
	t        testing.TB
	dir      string
	servers  []*testserver.Shard
	forms    map[int]*form
	market   *market.Market
	issuer   *auth.Authority // of tokens for agents
	key      string
	from, to time.Time // the period with observations
}

func newEstate(t testing.TB) *estate {
	t.Helper()
	cfg := market.Config{Seed: 11, Scale: 0.1, Now: time.Now().UTC().Truncate(time.Hour)}
	m := must.Get(market.New(cfg))(t)
	e := &estate{t: t, dir: t.TempDir(), servers: testserver.Shards(t, 3), forms: map[int]*form{}, market: m, to: cfg.Now, from: cfg.Now.Add(-30 * time.Hour)}
	e.key = filepath.Join(e.dir, "token.pem")
	must.Do(t, auth.EnsureKey(e.key))
	e.issuer = must.Get(auth.NewIssuer(baseURL, e.key))(t)
	for _, n := range shardCounts {
		e.forms[n] = e.newForm(n)
	}
	e.publish(slices.Collect(m.Catalog())...)
	e.publish(slices.Collect(m.Observations(e.from, e.to))...)
	e.waitApplied()
	for n, f := range e.forms {
		f.nodes = append(f.nodes, e.node(f, 0))
		if n > 1 {
			f.nodes = append(f.nodes, e.node(f, n-1))
		}
		t.Logf("%d shards: rows of mandates %v", n, f.count("SELECT count() FROM observations_by_mandate"))
	}
	return e
}

// newForm creates the tables and starts the streams and the projectors.
func (e *estate) newForm(n int) *form {
	t := e.t
	t.Helper()
	f := &form{n: n, database: fmt.Sprintf("preismon_test_of_%d", n)}
	server := must.Get(embedded.StartNATS(t.Context(), embedded.NATSConfig{Dir: filepath.Join(e.dir, "nats-"+strconv.Itoa(n)), Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	f.nats = server.URL()
	conn := must.Get(nats.Connect(f.nats))(t)
	t.Cleanup(conn.Close)
	f.js = must.Get(jetstream.New(conn))(t)
	must.Do(t, ingest.EnsureStreams(t.Context(), f.js, ingest.StreamConfig{}))
	f.publisher = must.Get(ingest.NewPublisher(conn, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(f.publisher.Close)
	for p := range n {
		admin := e.servers[p].DSN(embedded.AdminUser, f.database)
		args := []string{"migrate", "--clickhouse-dsn", admin}
		if n > 1 {
			args = append(args, "--clickhouse-cluster", testserver.Cluster(n), "--unreplicated")
		}
		run(t, args...)
		db := must.Get(sql.Open("clickhouse", admin))(t)
		t.Cleanup(func() { _ = db.Close() })
		f.tables = append(f.tables, db)
		f.projectors = append(f.projectors, e.projector(f, p))
	}
	return f
}

func (e *estate) projector(f *form, p int) *process.Role {
	return process.Start(e.t, "projector", "--partition", strconv.Itoa(p), "--partitions", strconv.Itoa(f.n), "--lease-ttl", leaseTTL.String(),
		"--nats-url", f.nats, "--clickhouse-dsn", e.servers[p].DSN(embedded.ProjectorUser, f.database), "--admin-listen", "127.0.0.1:0")
}

// node starts a query node at a shard and waits until it is ready.
func (e *estate) node(f *form, p int) *process.Role {
	e.t.Helper()
	r := process.Start(e.t, "query", "--shards", strconv.Itoa(f.n), "--nats-url", f.nats, "--clickhouse-dsn", e.servers[p].DSN(embedded.QueryUser, f.database),
		"--token-key", e.key, "--cursor-key", strings.Repeat("cursor key ", 4), "--base-url", baseURL, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--logins-per-minute", "1000000", "--reads-per-minute", "1000000")
	must.Eventually(e.t, time.Minute, "the query node is ready", r.Ready)
	return r
}

// publish publishes the same events to all forms, in the same order.
func (e *estate) publish(events ...*event.Event) {
	e.t.Helper()
	for _, f := range e.forms {
		for _, ev := range events {
			must.Do(e.t, f.publisher.Publish(e.t.Context(), ev))
		}
		must.Get(f.publisher.Flush(e.t.Context()))(e.t)
	}
}

// waitApplied waits until everything published is in the tables of all forms.
func (e *estate) waitApplied() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 5*time.Minute)
	defer cancel()
	for _, n := range slices.Sorted(maps.Keys(e.forms)) {
		began := time.Now()
		f := e.forms[n]
		must.Eventually(e.t, time.Minute, "all partitions have projectors", func() bool { return ingest.WaitApplied(ctx, f.js, f.n) == nil })
		e.t.Logf("%d shards have everything %v later", n, time.Since(began).Round(time.Millisecond))
	}
}

// count queries each shard for a number.
func (f *form) count(question string) (all []uint64) {
	for _, db := range f.tables {
		var n uint64
		if err := db.QueryRow(question).Scan(&n); err != nil {
			panic(err)
		}
		all = append(all, n)
	}
	return all
}

// account is one of the market's, by the part of its login before the @.
func (e *estate) account(name string) (demo market.DemoAccount, record *contracts.Account) {
	for _, a := range e.market.Accounts() {
		if strings.HasPrefix(a.LoginIdentifier, name+"@") {
			demo = a
		}
	}
	for ev := range e.market.Catalog() {
		if a, ok := ev.Data.(*contracts.Account); ok && a.LoginIdentifier == demo.LoginIdentifier {
			return demo, a
		}
	}
	panic("no account " + name)
}

// run runs a command of preismon until it ends.
func run(t testing.TB, args ...string) {
	t.Helper()
	name := must.Get(process.Program())(t)
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("preismon %s: %v\n%s", args[0], err, out)
	}
}
