package store_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
	"preismon/query"
	"preismon/query/store"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
)

const threeShards = 3

// shardedWorld is a world whose rows are also on three shards, each with the
// whole catalogue.
type shardedWorld struct {
	*world
	servers  []*testserver.Shard
	database string // on the servers; empty: the one that they have
	conns    []driver.Conn
}

// shardVersions are the versions in force in the partitions.
var shardVersions = []uint64{21, 22, 23}

func newShardedWorld(t *testing.T) *shardedWorld {
	t.Helper()
	w := &shardedWorld{world: newWorld(t, 31, 0), servers: testserver.Shards(t, threeShards)}
	unmerged(w.world)
	catalogueRows(w.world)
	for p := range w.servers {
		w.fill(p)
		w.reach(p, query.Watermark{Epoch: epoch, Seq: w.mark - 60 + uint64((p+1)%threeShards)})
	}
	return w
}

// reach writes the checkpoint of a partition.
func (w *shardedWorld) reach(p int, at query.Watermark) {
	w.t.Helper()
	w.on(p, "INSERT INTO checkpoints (stream, partition, partitions, epoch, seq) VALUES ('OBSERVATIONS', ?, 3, ?, ?)", p, at.Epoch, at.Seq)
}

// on runs a statement on the shard of a partition.
func (w *shardedWorld) on(p int, sql string, args ...any) {
	w.t.Helper()
	if err := w.conns[p].Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("shard %d: %s: %v", p, sql, err)
	}
}

// fill copies the catalogue of the world to a shard, and the rows of its sites.
// Rows stay in several parts.
func (w *shardedWorld) fill(p int) {
	w.t.Helper()
	admin := w.servers[p].DSN(embedded.AdminUser, w.database)
	must.Do(w.t, schema.Migrate(w.t.Context(), admin, schema.Options{Cluster: testserver.Cluster(threeShards), Unreplicated: true}))
	opt := must.Get(clickhouse.ParseDSN(admin))(w.t)
	conn := must.Get(clickhouse.Open(opt))(w.t)
	w.t.Cleanup(func() { conn.Close() })
	w.conns = append(w.conns, conn)
	for _, name := range []string{"sites", "items", "mandates", "accounts", "orders", "reference_prices", "customer_data", "file_jobs", "file_archives"} {
		w.on(p, "INSERT INTO "+name+" SELECT * FROM "+w.table(name))
	}
	for _, name := range []string{"observations", "observations_by_mandate", "latest_observations"} {
		w.on(p, "SYSTEM STOP MERGES "+name)
		for part := range 4 {
			w.on(p, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE indexOf(%s, site) %% %d = %d AND seq %% 4 = %d",
				name, w.table(name), siteList(), threeShards, p, part))
		}
	}
	w.on(p, fmt.Sprintf("INSERT INTO ingested_events SELECT * FROM %s WHERE seq %% %d = %d OR seq %% 5 = 0", w.table("ingested_events"), threeShards, p)) // some are on all shards
	w.on(p, "INSERT INTO scope_pairs SELECT mandate, ?, item, site, orders FROM "+w.table("scope_pairs"), shardVersions[p])
	w.on(p, "INSERT INTO scopes SELECT mandate, ?, pairs, items FROM "+w.table("scopes"), shardVersions[p])
	w.on(p, "INSERT INTO scopes_applied SELECT mandate, ?, ? FROM "+w.table("scopes"), p, shardVersions[p])
}

// table returns a table of the world, as an expression for a shard.
func (w *shardedWorld) table(name string) string {
	from := must.Get(url.Parse(w.admin))(w.t)
	password, _ := from.User.Password()
	return fmt.Sprintf("remote('%s', '%s', '%s', '%s', '%s')", from.Host, strings.TrimPrefix(from.Path, "/"), name, from.User.Username(), password)
}

func siteList() string { return "['" + strings.Join(worldSites, "', '") + "']" }

// node opens a store at a shard, for n shards.
func (w *shardedWorld) node(p, n int) *store.Store {
	w.t.Helper()
	cfg := w.cfg
	cfg.DSN, cfg.SliceRows, cfg.Shards = contracts.Secret(w.servers[p].DSN(embedded.QueryUser, w.database)), 300, n
	s := must.Get(store.New(cfg))(w.t)
	w.t.Cleanup(func() { s.Close() })
	return s
}

// TestShards compares three shards with one server.
func TestShards(t *testing.T) {
	effort.Full(t, "three ClickHouse servers")
	w := newShardedWorld(t)
	nodes := []*store.Store{w.node(0, threeShards), w.node(2, threeShards)}
	t.Run("the same answers", func(t *testing.T) { w.sameAnswers(t, nodes) })
	t.Run("pages over two nodes", func(t *testing.T) { w.walksOverNodes(t, nodes) })
	t.Run("feeds", func(t *testing.T) { feedsOverShards(t, w.servers) })
	t.Run("a mandate without pairs", func(t *testing.T) { w.withoutPairs(t, nodes[1]) })
	t.Run("state", func(t *testing.T) { w.states(t, nodes[1]) })
	t.Run("visible times", func(t *testing.T) { w.visibleTimes(t, nodes[1]) })
	t.Run("one away", func(t *testing.T) { w.oneAway(t, nodes[0]) })
}

// sameAnswers: each read, as some of the accounts and from one of the nodes,
// returns the rows of one server, in the same order. RES-05c, RES-14a, VIS-05.
func (w *shardedWorld) sameAnswers(t *testing.T, nodes []*store.Store) {
	single, several := readsOf(w.world, 7), readsOf(w.world, shardVersions...)
	one := store.WithSettings(t, w.cfg, nil)
	rows := 0
	for i, name := range someOf(single, 4) {
		if strings.HasPrefix(name, "Access:") || strings.HasPrefix(name, "VisibleTimes:") {
			continue // versions and checkpoints differ, see states and visibleTimes
		}
		want, err := single[name](t.Context(), one)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows += len(want)
		got, err := several[name](t.Context(), nodes[i%len(nodes)])
		if err != nil {
			t.Errorf("%s, node %d: %v", name, i%len(nodes), err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, node %d (-one server +shards):\n%.3000s", name, i%len(nodes), diff)
		}
	}
	if rows < 2_000 {
		t.Errorf("the questions give %d rows: too few to tell anything", rows)
	}
	// Every shard has rows, so that no answer came from a single one.
	for p := range w.conns {
		var n uint64
		if err := w.conns[p].QueryRow(t.Context(), "SELECT count() FROM observations_by_mandate").Scan(&n); err != nil || n < 100 {
			t.Errorf("shard %d has %d rows, %v", p, n, err)
		}
	}
}

// walksOverNodes: a cursor works at every node, and the pages are the rows of
// one read. CUR-02.
func (w *shardedWorld) walksOverNodes(t *testing.T, nodes []*store.Store) {
	var services []*query.Service
	for _, node := range nodes {
		services = append(services, w.over(node, func(*query.Config) {}))
	}
	for _, account := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther} {
		for _, sort := range []string{"asc", "desc"} {
			r := query.ResultsRequest{GlobalScope: true, CapturedTo: w.now.Format(time.RFC3339), Sort: sort, Limit: ptr(70), CapturedFrom: w.now.Add(-96 * time.Hour).Format(time.RFC3339)}
			want := w.walk(t, account, r, nil)
			w.service = services[0]
			got := w.walk(t, account, r, func(page int) { w.service = services[page%2] })
			if diff := cmp.Diff(want, got); diff != "" || len(got) < 15 {
				t.Errorf("account %d, %s: %d rows (-one server +shards):\n%.3000s", account, sort, len(got), diff)
			}
			w.service = w.single
		}
	}
}

// states: the versions in force are those of all partitions; complete and
// applied are only what is so in all of them. VIS-05, CUR-02.
func (w *shardedWorld) states(t *testing.T, node *store.Store) {
	for _, table := range []string{"scopes", "scopes_applied", "checkpoints"} {
		for p := range w.conns {
			w.on(p, "SYSTEM STOP MERGES "+table)
		}
	}
	// A node configured with fewer shards than there are does not mistake a
	// part for the whole.
	for n := 1; n < threeShards; n++ {
		if mark, err := w.node(0, n).Watermark(t.Context()); fault.KindOf(err) != fault.Unavailable || mark != (query.Watermark{}) {
			t.Errorf("the watermark of %d shards: %v, %v", n, mark, err)
		}
	}
	start := query.Watermark{Epoch: epoch, Seq: w.mark - 60}
	for _, step := range []struct {
		on       int
		exec     string
		versions []uint64
		applied  bool
		mark     query.Watermark
	}{
		{0, "SELECT 1", shardVersions, true, start},
		{1, "INSERT INTO scopes (mandate, version, pairs) VALUES (1, 25, 3)", []uint64{21, 23, 25}, false, start},
		{1, "INSERT INTO scopes_applied (mandate, partition, version) VALUES (1, 1, 28)", []uint64{21, 23, 25}, false, start},
		{1, "INSERT INTO scopes (mandate, version, pairs) VALUES (1, 28, 3)", []uint64{21, 23, 28}, true, start},
		{2, "INSERT INTO scopes_applied (mandate, partition, version) VALUES (1, 2, 22)", []uint64{21, 23, 28}, true, start},
		{2, "INSERT INTO scopes_applied (mandate, partition, version) VALUES (1, 2, 26)", []uint64{21, 23, 28}, false, start},
		{2, "TRUNCATE TABLE scopes_applied", []uint64{21, 23, 28}, false, start},
		{2, "TRUNCATE TABLE scopes", []uint64{21, 28}, false, start},
		{2, "INSERT INTO checkpoints (stream, partition, partitions, epoch, seq) VALUES ('OBSERVATIONS', 2, 3, 1700000001, 6)", []uint64{21, 28}, false, query.Watermark{Epoch: epoch, Seq: start.Seq + 1}},
		{2, "INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('CATALOG', 1, 1, 6)", []uint64{21, 28}, false, query.Watermark{Epoch: epoch, Seq: start.Seq + 1}},
		{0, "TRUNCATE TABLE checkpoints", []uint64{21, 28}, false, query.Watermark{}},
	} {
		w.on(step.on, step.exec)
		a := must.Get(node.Access(t.Context(), accountWhole))(t)
		mark := must.Get(node.Watermark(t.Context()))(t)
		if v := a.Visibility; !slices.Equal(v.Versions, step.versions) || v.Applied != step.applied || mark != step.mark {
			t.Errorf("after %s: versions %v, applied %t, mark %v; want %v, %t, %v", step.exec, v.Versions, v.Applied, mark, step.versions, step.applied, step.mark)
		}
	}
}

// oneAway: without one shard there is no answer, not even a part of one; when
// it is back, there is.
func (w *shardedWorld) oneAway(t *testing.T, node *store.Store) {
	everything := query.Visibility{Mandate: mandateOne, Versions: shardVersions, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	q := query.ResultsQuery{Window: contracts.Window{From: w.now.Add(-300 * time.Hour), To: w.now}, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Limit: 10}
	want, err := resultTexts(t.Context(), node, everything, q)
	if err != nil || len(want) != 10 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	w.servers[1].Kill()
	<-w.servers[1].Done()
	stream := q
	stream.Limit = 0
	for name, ask := range map[string]func() error{
		"page":      func() error { _, err := resultTexts(t.Context(), node, everything, q); return err },
		"stream":    func() error { _, err := resultTexts(t.Context(), node, everything, stream); return err },
		"access":    func() error { _, err := node.Access(t.Context(), accountWhole); return err },
		"watermark": func() error { _, err := node.Watermark(t.Context()); return err },
	} {
		if err := ask(); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s without a shard: %v", name, err)
		}
	}
	w.servers[1].Start(t)
	got, err := resultTexts(t.Context(), node, everything, q)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("after it came back: %v (-want +got):\n%s", err, diff)
	}
}
