package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/atomicfile"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/store"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

type upCmd struct {
	roleFlags
	DataDir     string         `help:"Folder for everything that is kept. Default: ${default}." default:"preismon-data" type:"path" placeholder:"DIR"`
	Listen      string         `help:"Address of the API and the web pages. Default: ${default}." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
	AdminListen string         `help:"Address of /livez, /readyz, /metrics and pprof. Default: ${default}." default:"127.0.0.1:8081" placeholder:"HOST:PORT"`
	Demo        demoFlags      `embed:""`
	WithDemo    bool           `name:"demo" help:"Fill the folder with a simulated market, and keep it running."`
	Archives    archiveFlags   `embed:""`
	Edge        edgeFlags      `embed:""`
	Budgets     budgetFlags    `embed:""`
	Traces      traceFlags     `embed:""`
	Pairs       pairFlags      `embed:""`
	Batches     batchFlags     `embed:""`
	Retention   retentionFlags `embed:""`
	AuditEvery  time.Duration  `help:"How often streams and tables are compared, as \"preismon audit\" does; 0: never." default:"1h"`
	SyncAlways  bool           `help:"Write every event to disk before it is acknowledged: events survive power loss, but publishing is slower."`
	StopGrace   time.Duration  `help:"How long a stop waits for work in progress." default:"5s"`
}

func (c *upCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) (err error) {
	start := time.Now()
	restCfg := c.Edge.rest(c.Listen)
	restCfg.MinRate = c.Budgets.MinReadRate
	placeholder := contracts.Secret("the key is made in the data folder, where needed")
	faults := faulty(address("listen", c.Listen), address("admin-listen", c.AdminListen), restCfg.Validate(), c.Archives.faults(), c.Budgets.query(placeholder, c.Archives).Validate(), c.Budgets.throttle().Validate(), c.Budgets.admission().Validate(),
		c.Budgets.auth(restCfg.BaseURL).Validate(), c.Demo.faults(), auditEvery(c.AuditEvery), c.Pairs.faults(), c.Batches.faults(), c.Retention.faults(), c.Traces.faults())
	if done, err := c.only(k, std.out, faults); done {
		return err
	}
	public, err := listen("listen", c.Listen)
	if err != nil {
		return err
	}
	defer public.Close() //nolint:errcheck // closed by its server before
	private, err := listen("admin-listen", c.AdminListen)
	if err != nil {
		return err
	}
	defer private.Close() //nolint:errcheck // closed by its server before
	dir, err := embedded.OpenDataDir(c.DataDir)
	if err != nil {
		return err
	}
	l := newLifecycle(log)
	defer func() {
		began := time.Now()
		err = errors.Join(err, l.stop(c.StopGrace), dir.Close())
		log.Info("stopped", "seconds", time.Since(began).Seconds())
	}()
	url := c.Edge.rest(public.Addr().String()).BaseURL // the port may have been chosen by the system
	err = c.up(ctx, l, dir, upParts{public: public, private: private, std: std, log: log, start: start, url: url})
	if err != nil && ctx.Err() != nil {
		log.Info("stopped while starting", "at", err)
		return nil
	}
	return err
}

// upParts are what the steps of up share.
type upParts struct {
	public, private net.Listener
	std             streams
	log             *slog.Logger
	start           time.Time
	url             string
	admin           *admin
	traces          *tracing
}

func (c *upCmd) up(ctx context.Context, l *lifecycle, dir *embedded.DataDir, p upParts) error {
	a := newAdmin()
	traces, err := c.Traces.start(l, a, "up", p.log)
	if err != nil {
		return err
	}
	p.admin, p.traces = a, traces
	servers, err := startServers(ctx, l, dir, c.SyncAlways, p)
	if err != nil {
		return err
	}
	assets := fetchAssets(l, p.log) // in the background
	b, err := connect(ingest.Config{URL: servers.nats.URL(), Name: "preismon up", Logger: p.log}, nats.InProcessServer(servers.nats))
	if err != nil {
		return err
	}
	l.defers("nats connection", func(context.Context) error { b.conn.Close(); return nil })
	if err := ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{}); err != nil {
		return err
	}
	if err := schema.Migrate(ctx, servers.clickhouse.DSN(embedded.AdminUser, ""), schema.Options{}); err != nil {
		if errors.Is(err, schema.ErrNewer) {
			return fmt.Errorf("the data folder %s was written by a newer preismon: %w; use that version, or another --data-dir", dir.Path, err)
		}
		return err
	}
	own, err := archive.NewDir(dir.Join(artifactsFolder))
	if err != nil {
		return err
	}
	l.defers("artifacts", func(context.Context) error { return own.Close() })
	a.optional("archive of the data folder", func(ctx context.Context) error { return readable(ctx, own) })
	further, err := openArchives(l, a, c.Archives.Archives)
	if err != nil {
		return err
	}

	b.observe(a)
	ch, err := clickhouse.ParseDSN(servers.clickhouse.DSN(embedded.ProjectorUser, ""))
	if err != nil {
		return err
	}
	proj, err := newProjection(ch, b, ingest.LeaseConfig{Key: ingest.ProjectorLease(0, 1), Alone: true}, c.AuditEvery, p.log)
	if err != nil {
		return err
	}
	proj.traces, proj.pairs, proj.batches, proj.retention, proj.keepRows = traces, c.Pairs, c.Batches, c.Retention.retention(), c.Retention.rows()
	proj.observe(a)
	l.defers("projector connections", func(context.Context) error { return proj.close() })
	l.run("projector", proj.run)

	keys, cursorKey, err := openKeys(dir)
	if err != nil {
		return err
	}
	storeCfg, restCfg := store.Defaults(), c.Edge.rest(p.public.Addr().String())
	storeCfg.DSN = contracts.Secret(servers.clickhouse.DSN(embedded.QueryUser, ""))
	restCfg.MinRate = c.Budgets.MinReadRate
	if isTerminal(p.std.err) { // a user is watching: show problems, not every request
		restCfg.AccessLevel = slog.LevelDebug
	}
	err = serveQueries(l, a, serving{
		assets: assets, listener: p.public, store: storeCfg, rest: restCfg, keys: keys, bus: b, log: p.log,
		archives: append([]query.Archive{artifacts{own}}, further...),
		query:    c.Budgets.query(cursorKey, c.Archives), budgets: c.Budgets, traces: traces, schemes: c.Edge.Schemes,
	})
	if err != nil {
		return err
	}
	a.serve(l, p.private)
	adminURL := "http://" + reachable(p.private.Addr().String())
	runtime := embedded.Runtime{
		NATSURL:  servers.nats.URL(),
		AdminDSN: servers.clickhouse.DSN(embedded.AdminUser, ""), ProjectorDSN: servers.clickhouse.DSN(embedded.ProjectorUser, ""),
		QueryDSN: servers.clickhouse.DSN(embedded.QueryUser, ""), HTTPURL: servers.clickhouse.HTTPURL(), ClickHouse: servers.clickhouse.PID(),
		APIURL: p.url, AdminURL: adminURL,
	}
	if err := dir.WriteRuntime(runtime); err != nil {
		return err
	}
	l.run("clickhouse", func(ctx context.Context) error {
		return servers.clickhouse.Supervise(ctx, func() {
			runtime.ClickHouse = servers.clickhouse.PID()
			if err := dir.WriteRuntime(runtime); err != nil {
				p.log.Error("client commands do not learn of the new ClickHouse", "error", err)
			}
		})
	})

	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // a part that fails ends the work that waits for it
		select {
		case err := <-l.failed:
			cancel(err)
		case <-work.Done():
		}
	}()
	if c.WithDemo {
		err = c.demo(work, l, dir, proj, own, p, adminURL)
	} else if err = proj.caughtUp(work); err == nil {
		welcome(p.std.out, page{url: p.url, admin: adminURL, dir: c.DataDir, accountsFile: demoAccounts(dir)})
	}
	if err != nil {
		return errors.Join(context.Cause(work), err)
	}
	fmt.Fprintf(p.std.out, "ready after %.1f s: everything published so far can be queried\n", time.Since(p.start).Seconds())
	<-work.Done()
	if ctx.Err() == nil {
		return context.Cause(work)
	}
	p.log.Info("stopping")
	return nil
}

// servers are the two that run alongside our roles.
type servers struct {
	clickhouse *embedded.ClickHouse
	nats       *embedded.NATS
}

// startServers starts both in parallel.
func startServers(ctx context.Context, l *lifecycle, dir *embedded.DataDir, syncAlways bool, p upParts) (servers, error) {
	var s servers
	lib := embedded.Library{Logger: p.log}
	if isTerminal(p.std.err) {
		lib.Terminal = p.std.err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		s.clickhouse, err = embedded.StartClickHouse(gctx, embedded.ClickHouseConfig{Dir: dir.Join("clickhouse"), Library: lib, Logger: p.log})
		return err
	})
	g.Go(func() (err error) {
		s.nats, err = embedded.StartNATS(gctx, embedded.NATSConfig{Dir: dir.Join("nats"), SyncAlways: syncAlways, Logger: p.log})
		return err
	})
	err := g.Wait()
	if s.clickhouse != nil {
		l.defers("clickhouse", s.clickhouse.Stop)
	}
	if s.nats != nil {
		l.defers("nats", s.nats.Stop)
	}
	return s, err
}

// openKeys returns the secrets behind tokens and cursors; they stay in the
// folder, so that a restart ends no session.
func openKeys(dir *embedded.DataDir) (tokens *auth.Keyring, cursors contracts.Secret, err error) {
	signing := dir.Join("token-key.pem")
	if err := auth.EnsureKey(signing); err != nil {
		return nil, "", err
	}
	if tokens, err = auth.ReadKeyring(signing); err != nil {
		return nil, "", err
	}
	name := dir.Join("cursor-key")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text() + rand.Text())
		err = atomicfile.Write(name, text)
	}
	return tokens, contracts.Secret(text), err
}
