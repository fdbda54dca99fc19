package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// leaseTTL is short, so that many faults fit into a minute, but long enough for
// a busy machine.
const leaseTTL = 2 * time.Second

// world is everything as processes: servers, two projectors of which one leads,
// a query node, a proxy between any two of them, and a producer and two readers
// that never stop.
type world struct {
	t    testing.TB
	dir  string
	seed uint64

	nats       *process.NATS
	cluster    *cluster.Cluster // replaces it; nil: there is one server
	bus        *nats.Conn       // the test's own, bypassing the proxies
	js         jetstream.JetStream
	projectors [2]*process.Role
	query      *process.Role

	// The proxies: of the projectors, of the query node, of the producer.
	projectorTables, queryTables                    *proxy.Proxy
	projectorStreams, queryStreams, producerStreams *proxy.Proxy
	archive                                         *proxy.Proxy // of the query node, to MinIO

	tablesDisk, streamsDisk *disk

	mu         sync.Mutex // guards the servers: one is restarted at a time
	clickhouse *embedded.ClickHouse
	tables     *sql.DB

	ledger   *ledger
	producer *producer
	readers  []*reader
	grants   *grants
	tokens   *tokens
	file     *file // nil: there is no archive
	since    int64 // captures of this iteration begin here
	usage    sampler

	patience time.Duration // the time by which everything acknowledged must be visible

	compared map[int]process.Compared // by the query node, by its process

	foundMu sync.Mutex
	found   []error // by readers
}

// newWorld starts everything except projectors and query node.
func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	return newWorldOn(t, seed, nil)
}

// newWorldOn puts its streams on a cluster, if there is one.
func newWorldOn(t testing.TB, seed uint64, c *cluster.Cluster) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), seed: seed, patience: healed, cluster: c, compared: map[int]process.Compared{}}
	for _, p := range []**proxy.Proxy{&w.projectorTables, &w.queryTables, &w.projectorStreams, &w.queryStreams, &w.producerStreams, &w.archive} {
		*p = proxy.New(t, "")
	}
	w.tablesDisk, w.streamsDisk = newDisk(t, filepath.Join(w.dir, "clickhouse")), newDisk(t, filepath.Join(w.dir, "nats"))
	w.usage.most = map[string]usage{}
	must.Do(t, w.startTables(t.Context(), limits{}))
	t.Cleanup(func() { _ = w.clickhouse.Stop(context.Background()) })
	must.Do(t, schema.Migrate(t.Context(), w.clickhouse.DSN(embedded.AdminUser, ""), schema.Options{}))
	w.nats = &process.NATS{Dir: w.streamsDisk.dir}
	must.Do(t, w.startStreams())
	t.Cleanup(func() {
		w.bus.Close()
		if w.cluster == nil {
			w.nats.Kill()
		}
	})
	must.Do(t, ingest.EnsureStreams(t.Context(), w.js, ingest.StreamConfig{Replicas: w.replicas()}))

	w.ledger = newLedger(seed)
	w.producer = must.Get(newProducer(w.ledger, w.streamsURL(w.producerStreams)))(t)
	t.Cleanup(w.producer.conn.Close)
	records := must.Get(catalog())(t)
	w.publish(records)
	w.grants = &grants{}
	for m := range uint64(len(scopes)) {
		w.readers = append(w.readers, newReader(m+1, w.ledger, func() string { return w.query.URL() }, seed, w.finding))
		w.readers[m].grants = w.grants
	}
	w.tokens = &tokens{reader: w.readers[0]}
	return w
}

// publish sends records of the catalogue.
func (w *world) publish(records []*event.Event) {
	w.t.Helper()
	for _, e := range records {
		must.Do(w.t, w.producer.pub.Publish(w.t.Context(), e))
	}
	must.Get(w.producer.pub.Flush(w.t.Context()))(w.t)
}

// withFiles adds a file in an archive for the first mandate.
func (w *world) withFiles() {
	w.t.Helper()
	var records []*event.Event
	w.file, records = putFile(w.t, w.archive, w.seed)
	w.publish(records)
	w.readers[0].file = w.file
}

// startRoles starts the two projectors and the query node.
func (w *world) startRoles() {
	w.t.Helper()
	w.startQuery()
	for i := range w.projectors {
		w.projectors[i] = w.startRole("projector", "--nats-url", w.streamsURL(w.projectorStreams), "--stream-replicas", strconv.Itoa(w.replicas()), "--clickhouse-dsn", w.projectorTables.URL(w.clickhouse.DSN(embedded.ProjectorUser, "")),
			"--admin-listen", "127.0.0.1:0", "--lease-ttl", leaseTTL.String(), "--max-order-pairs", strconv.Itoa(maxPairs), "--max-mandate-pairs", strconv.Itoa(maxPairs))
	}
}

func (w *world) startQuery() {
	w.t.Helper()
	key := filepath.Join(w.dir, "token.pem")
	must.Do(w.t, auth.EnsureKey(key))
	args := []string{
		"query", "--nats-url", w.streamsURL(w.queryStreams), "--stream-replicas", strconv.Itoa(w.replicas()), "--clickhouse-dsn", w.queryTables.URL(w.clickhouse.DSN(embedded.QueryUser, "")),
		"--base-url", baseURL, // the same after each start, whatever the port is
		"--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--reads-per-minute", "1000000", "--logins-per-minute", "1000", "--token-lifetime", "24h", process.Compares,
	}
	if w.file != nil {
		args = append(args, "--archive", w.file.place)
	}
	w.query = w.startRole(args...)
}

// startRole starts a role with one processor, because there are several roles.
func (w *world) startRole(args ...string) *process.Role {
	w.t.Helper()
	r := process.New(w.t, args...)
	r.Env, r.Asks = []string{"GOMAXPROCS=1"}, time.Second
	must.Do(w.t, r.Start())
	return r
}

// live runs the producer and the readers alongside the test.
func (w *world) live() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { w.producer.run(ctx) })
	for _, r := range w.readers {
		group.Go(func() { r.run(ctx) })
	}
	if w.cluster != nil {
		group.Go(func() { w.watchLag(ctx) })
	}
	group.Go(func() { w.tokens.run(ctx, rand.New(rand.NewPCG(w.seed, 13))) })
	group.Go(func() { w.sample(ctx) })
	return func() {
		cancel()
		w.producer.pub.Close()
		group.Wait()
	}
}

// read returns how often the readers made a request, and how often it failed.
func (w *world) read() (reads, fails int64) {
	for _, r := range w.readers {
		reads, fails = reads+r.reads.Load(), fails+r.fails.Load()
	}
	return reads, fails
}

func (w *world) finding(err error) {
	w.foundMu.Lock()
	defer w.foundMu.Unlock()
	if len(w.found) < 20 {
		w.found = append(w.found, err)
	}
}

// findings returns what readers found since the last call.
func (w *world) findings() error {
	w.foundMu.Lock()
	defer w.foundMu.Unlock()
	all := w.found
	w.found = nil
	return errors.Join(all...)
}

func (w *world) db() *sql.DB {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tables
}

// streams is the test's own JetStream client.
func (w *world) streams() jetstream.JetStream {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.js
}

// conn is the connection of that client.
func (w *world) conn() *nats.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bus
}

// leader waits until one of the projectors leads.
func (w *world) leader() (leading, standing *process.Role, err error) {
	err = must.Until(patience, "a projector leads", func() bool {
		for i, r := range w.projectors {
			if r.Leads() {
				leading, standing = r, w.projectors[1-i]
				return true
			}
		}
		return false
	})
	return leading, standing, err
}

// checkDeadLetters compares the dead letters with the poison sent. After a fault a
// cluster may for a while have no leader of their stream, or one that was cut
// off and answers with old state: too few are queried again; too many would
// never disappear.
func (w *world) checkDeadLetters(ctx context.Context) error {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	n := 0
	_, err := retried(func() (jetstream.Stream, error) {
		s, err := w.streams().Stream(ctx, event.StreamDeadLetters)
		if err != nil {
			return nil, err
		}
		if n = int(s.CachedInfo().State.Msgs); n < w.ledger.poison {
			return nil, fmt.Errorf("%d dead letters", n)
		}
		return s, nil
	})
	if n != w.ledger.poison {
		return errors.Join(wrong("I1", "%d dead letters of %d messages that are no events", n, w.ledger.poison), err)
	}
	return err
}
