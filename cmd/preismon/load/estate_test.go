package load_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
	"preismon/ingest/market"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// estate is a market in real servers, each of which query nodes reach through a
// proxy of its own.
type estate struct {
	t   testing.TB
	dir string

	clickhouse *embedded.ClickHouse
	tables     *sql.DB // as the administrator
	natsURL    string  // without a proxy
	market     *market.Market
	accounts   []market.DemoAccount
	ids        map[string]contracts.AccountID // by login
	issuer     *auth.Authority                // of access tokens
	from, to   time.Time                      // the period with observations
	feeds      map[string]feed                // by login

	toTables, toStreams, toFiles *proxy.Proxy
	query                        []string // flags of a node
}

// baseURL is the base URL of all nodes, whatever their ports are.
const baseURL = "http://127.0.0.1:1"

func newEstate(t testing.TB, cfg market.Config, span time.Duration) *estate {
	t.Helper()
	e := &estate{t: t, dir: t.TempDir()}
	e.toTables = proxy.New(t, "")
	e.startTables()
	t.Cleanup(func() { _ = e.tables.Close(); _ = e.clickhouse.Stop(context.Background()) })
	must.Do(t, schema.Migrate(t.Context(), e.clickhouse.DSN(embedded.AdminUser, ""), schema.Options{}))
	natsURL := testserver.NATS(t)
	toStreams, streams := proxy.Before(t, natsURL)
	e.toStreams = toStreams

	cfg.Now = time.Now().UTC().Truncate(time.Hour)
	m := must.Get(market.New(cfg))(t)
	e.natsURL, e.market = natsURL, m
	e.accounts, e.ids = m.Accounts(), map[string]contracts.AccountID{}
	for event := range m.Catalog() {
		if a, ok := event.Data.(*contracts.Account); ok {
			e.ids[a.LoginIdentifier] = a.AccountID
		}
	}
	e.from, e.to = cfg.Now.Add(-span), cfg.Now
	place := e.putFiles(m)

	key := filepath.Join(e.dir, "token.pem")
	must.Do(t, auth.EnsureKey(key))
	e.issuer = must.Get(auth.NewIssuer(baseURL, key))(t)
	e.query = []string{
		"query", "--nats-url", streams, "--clickhouse-dsn", e.toTables.URL(e.clickhouse.DSN(embedded.QueryUser, "")), "--archive", place,
		"--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4), "--base-url", baseURL,
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--logins-per-minute", "1000000",
	}
	e.publish(natsURL, m)
	return e
}

// node starts a query node and waits until it is ready.
func (e *estate) node(args ...string) *process.Role {
	e.t.Helper()
	r := process.Start(e.t, append(e.query[:len(e.query):len(e.query)], args...)...)
	until(e.t, time.Minute, "the query node is ready", r.Ready)
	return r
}

// startTables starts ClickHouse, and points the proxy to it.
func (e *estate) startTables() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	e.clickhouse, err = embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: filepath.Join(e.dir, "clickhouse"), NoProgram: true, Grace: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	must.Do(e.t, err)
	dsn := e.clickhouse.DSN(embedded.AdminUser, "")
	e.toTables.ToURL(dsn)
	if e.tables != nil {
		_ = e.tables.Close()
	}
	e.tables = must.Get(sql.Open("clickhouse", dsn))(e.t)
}

// killTables kills it with SIGKILL.
func (e *estate) killTables() {
	e.clickhouse.Kill()
	<-e.clickhouse.Done()
	_ = e.clickhouse.Stop(context.Background())
}

func (e *estate) signalTables(s syscall.Signal) {
	e.t.Helper()
	must.Do(e.t, syscall.Kill(e.clickhouse.PID(), s))
}

// number queries ClickHouse for a number.
func (e *estate) number(question string) (n uint64) {
	e.t.Helper()
	must.Do(e.t, e.tables.QueryRowContext(context.Background(), question).Scan(&n))
	return n
}

// publish fills the tables with the market, and begins the feeds in the middle
// of its period.
func (e *estate) publish(natsURL string, m *market.Market) {
	t := e.t
	t.Helper()
	bus := must.Get(nats.Connect(natsURL))(t)
	defer bus.Close()
	js := must.Get(jetstream.New(bus))(t)
	must.Do(t, ingest.EnsureStreams(t.Context(), js, ingest.StreamConfig{}))
	p := must.Get(ingest.NewPublisher(bus, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler)))(t)
	defer p.Close()
	for event := range m.Catalog() {
		must.Do(t, p.Publish(t.Context(), event))
	}
	observe := func(from, to time.Time) {
		for event := range m.Observations(from, to) {
			must.Do(t, p.Publish(t.Context(), event))
		}
		must.Get(p.Flush(t.Context()))(t)
	}
	applied := func() {
		until(t, 5*time.Minute, "everything is in the tables", func() bool { return ingest.WaitApplied(t.Context(), js, 1) == nil })
	}
	half := e.from.Add(e.to.Sub(e.from) / 2)
	observe(e.from, half)
	r := process.Start(t, "projector", "--nats-url", natsURL, "--clickhouse-dsn", e.clickhouse.DSN(embedded.ProjectorUser, ""), "--admin-listen", "127.0.0.1:0")
	applied()
	e.beginFeeds()
	observe(half, e.to)
	applied()
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("%d rows", e.number("SELECT count() FROM "+embedded.DefaultDatabase+".observations_by_mandate"))
}

// putFiles stores the market's files in a bucket, and returns the node's flag.
func (e *estate) putFiles(m *market.Market) string {
	t := e.t
	t.Helper()
	server := testserver.S3(t)
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Bucket, cfg.CreateBucket = "http://"+server.Endpoint, server.Bucket, true
	cfg.AccessKey, cfg.SecretKey = server.AccessKey, contracts.Secret(server.SecretKey)
	s3 := must.Get(archive.NewS3(cfg))(t)
	defer s3.Close() //nolint:errcheck // in a test
	must.Do(t, s3.EnsureBucket(t.Context()))
	for ref, content := range m.Artifacts() {
		key := archive.Key{Folder: archive.Exports, Mandate: ref.MandateID, Order: ref.OrderID, Archive: ref.ArchiveID, File: ref.Index}
		if ref.Import {
			key.Folder = archive.Imports
		}
		must.Do(t, s3.Put(t.Context(), archive.RefOf(key, content), bytes.NewReader(content)))
	}
	e.toFiles = proxy.New(t, server.Endpoint)
	u := url.URL{Scheme: "s3", User: url.UserPassword(server.AccessKey, server.SecretKey), Host: e.toFiles.Address(), Path: "/" + server.Bucket, RawQuery: "tls=false"}
	return u.String()
}

// account finds a login by the part before the @.
func (e *estate) account(name string) market.DemoAccount {
	for _, a := range e.accounts {
		if strings.HasPrefix(a.LoginIdentifier, name+"@") {
			return a
		}
	}
	panic(fmt.Sprintf("no account %s", name))
}
