package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/doctor"
	"preismon/contracts"
	"preismon/deploy/runbook"
	"preismon/ingest/seqlock"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/auth"
	"preismon/query/docs"
	"preismon/query/explorer"
	"preismon/query/rest"
	"preismon/query/store"

	"github.com/alecthomas/kong"
)

// budgetFlags bound what reads may cost. The names of the two guards are the
// specification's.
type budgetFlags struct {
	SoftDeadline   time.Duration `help:"After this time a page ends early, with a cursor." default:"${soft_deadline}"`
	HardBudget     time.Duration `help:"A read that takes longer fails." default:"${hard_budget}"`
	ScanGuardPairs int           `name:"scan-guard-max-scope-pairs" env:"RUST_API_RESULTS_SCAN_GUARD_MAX_SCOPE_PAIRS" help:"Refuse results reads over more pairs; 0: off."`
	ScanGuardHours int           `name:"scan-guard-max-window-hours" env:"RUST_API_RESULTS_SCAN_GUARD_MAX_WINDOW_HOURS" help:"Refuse results reads over more hours; 0: off. With both set, both must be exceeded."`
	ReadsPerMinute int           `help:"Reads per minute of one account." default:"600"`
	LoginsPerMin   int           `name:"logins-per-minute" help:"Login attempts per minute, for each login and for each address." default:"10"`
	HeavyAtOnce    int           `help:"Results reads and downloads that one account may run at once." default:"8"`
	TokenLifetime  time.Duration `help:"Lifetime of REST tokens." default:"4h"`
	ReadMemory     int64         `help:"MiB that reads in progress may hold together. Default: 256." default:"256" placeholder:"MIB"`
	Remember       int64         `help:"MiB for cached answers, in addition to what reads hold; 0: no cache. Default: 64." default:"64" placeholder:"MIB"`
	RememberStream int64         `name:"remember-streams" help:"MiB for the cached text, compressed, of streams of past hours and days; 0: no cache. Default: 128." default:"128" placeholder:"MIB"`
	RememberFolder string        `name:"remember-streams-folder" help:"Folder, for this node alone, for cached text of streams that does not fit into memory. The text is deleted at start and stop." placeholder:"DIR"`
	RememberOnDisk int64         `name:"remember-streams-disk" help:"MiB of disk that the cached text in --remember-streams-folder may take. Default: 4096." default:"4096" placeholder:"MIB"`
	CheckRemember  bool          `name:"check-remembered" help:"Compare every cached answer with a fresh one, and fail the request if they differ. For tests: it costs more than no cache."`
	ReadStatements int           `help:"Concurrent statements for observations; separately as many for the catalogue, and half as many for statistics." default:"32"`
	ReadWait       time.Duration `help:"How long a read waits for memory or a statement before it is refused." default:"10s"`
	MinReadRate    int64         `help:"Bytes per second that a client must read, measured over a minute in which the node waits for it. Values below 5000 have no further effect: answers are sent in pieces of up to 256 KiB, and each must be read within a minute." default:"10240"`
}

func (f budgetFlags) admission() admission.Config {
	return admission.Config{Memory: f.ReadMemory << 20, Statements: f.ReadStatements, Wait: f.ReadWait}
}

func (c *queryCmd) query() query.Config {
	cfg := c.Budgets.query(c.CursorKey.Secret, c.Archives)
	for _, k := range c.OldCursors {
		cfg.VerifyCursorKeys = append(cfg.VerifyCursorKeys, k.Secret)
	}
	return cfg
}

func (f budgetFlags) query(key contracts.Secret, archives archiveFlags) query.Config {
	cfg := query.Defaults()
	cfg.MaxDownloadBytes = archives.MaxDownloadBytes
	cfg.CursorKey, cfg.SoftDeadline, cfg.HardBudget = key, f.SoftDeadline, f.HardBudget
	cfg.RememberBytes, cfg.RememberStreamBytes, cfg.CheckRemembered = f.Remember<<20, f.RememberStream<<20, f.CheckRemember
	cfg.RememberStreamFolder, cfg.RememberStreamDisk = f.RememberFolder, f.RememberOnDisk<<20
	cfg.ScanGuardMaxPairs, cfg.ScanGuardMaxHours = f.ScanGuardPairs, f.ScanGuardHours
	return cfg
}

func (f budgetFlags) throttle() auth.ThrottleConfig {
	cfg := auth.ThrottleDefaults()
	cfg.Reads = auth.Rate{Requests: f.ReadsPerMinute, Per: time.Minute}
	cfg.Attempts = auth.Rate{Requests: f.LoginsPerMin, Per: time.Minute}
	cfg.HeavyAtOnce = f.HeavyAtOnce
	return cfg
}

func (f budgetFlags) auth(issuer string) auth.Config {
	cfg := auth.Defaults()
	cfg.Issuer, cfg.TokenLifetime = issuer, f.TokenLifetime
	return cfg
}

// edgeFlags configure how clients reach the service.
type edgeFlags struct {
	BaseURL        string         `help:"Where clients reach the service, without a slash at its end. Default: http:// and the address listened on." placeholder:"URL"`
	TrustedProxies []netip.Prefix `help:"Proxies whose X-Forwarded-For names the client." placeholder:"CIDR"`
	AllowedOrigins []string       `help:"Web origins whose pages may read answers (CORS)." placeholder:"URL"`
	Schemes        []string       `name:"redirect-schemes" help:"URL schemes to which an agent's login may return, in addition to https, loopback addresses and reversed domains (com.example.app). Default: ${default}." default:"claude,cursor,goose,kiro,vscode,vscode-insiders,windsurf,zed" placeholder:"NAME"`
	TraceContinue  bool           `help:"Continue the trace of the caller, and follow its sampling decision. Only behind a proxy that sets or removes traceparent."`
}

func (f edgeFlags) rest(listener string) rest.Config {
	cfg := rest.Defaults()
	cfg.BaseURL = cmp.Or(f.BaseURL, "http://"+reachable(listener))
	cfg.Build, cfg.TrustedProxies, cfg.AllowedOrigins, cfg.ContinueTraces = build(), f.TrustedProxies, f.AllowedOrigins, f.TraceContinue
	return cfg
}

type queryCmd struct {
	roleFlags
	NATS        natsFlags     `embed:""`
	ClickHouse  secret        `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may only read." placeholder:"DSN"`
	Shards      int           `help:"Number of ClickHouse shards that hold the observations, which is the number of partitions of the projectors; the DSN names any one of them." default:"1" placeholder:"N"`
	TokenKey    string        `help:"PEM file (PKCS 8, Ed25519) with the key that signs tokens: openssl genpkey -algorithm ed25519." type:"path" placeholder:"FILE"`
	VerifyKeys  []string      `help:"PEM files of further keys whose tokens are accepted, for rotation." type:"path" placeholder:"FILE"`
	CursorKey   secret        `help:"Seals cursors and the logins of agents: at least 32 bytes, the same on all nodes." placeholder:"KEY"`
	OldCursors  []secret      `name:"verify-cursor-keys" help:"Further keys whose cursors and logins of agents are accepted, for rotation." placeholder:"KEY"`
	Archives    archiveFlags  `embed:""`
	Edge        edgeFlags     `embed:""`
	Budgets     budgetFlags   `embed:""`
	Traces      traceFlags    `embed:""`
	Listen      string        `help:"Address of the API and the web pages. Default: ${default}." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
	AdminListen string        `help:"Address of /livez, /readyz, /metrics and pprof. Default: ${default}." default:"127.0.0.1:8081" placeholder:"HOST:PORT"`
	Assets      string        `name:"explorer-assets" help:"Folder with preact.module.js of Preact ${preact}, which draws the explorer, and uPlot.iife.min.js and uPlot.min.css of uPlot ${uplot}, which draw its charts. Without uPlot it shows tables, without Preact nothing. Made by: preismon explorer-assets." type:"path" placeholder:"DIR"`
	Streams     streamFlags   `embed:""`
	StopDelay   time.Duration `help:"How long a stopping node still serves new requests while /readyz fails, so that balancers notice." default:"3s"`
	StopGrace   time.Duration `help:"How long a stop waits for requests in progress." default:"20s"`
	Memory      int64         `name:"memory-goal" help:"MiB of heap, in addition to what reads and caches hold, above which garbage is collected at once; it does not limit what is in use. GOMEMLIMIT takes precedence." default:"128"`
}

func (c *queryCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	natsCfg := c.NATS.config("query", log)
	storeCfg := store.Defaults()
	storeCfg.DSN, storeCfg.Shards = c.ClickHouse.Secret, c.Shards
	restCfg := c.Edge.rest(c.Listen)
	restCfg.MinRate = c.Budgets.MinReadRate
	var keyErr error
	if c.TokenKey == "" {
		keyErr = errors.New("token-key: missing")
	}
	dsnErr := checkDSN(c.ClickHouse.Secret)
	if c.ClickHouse.Secret == "" {
		dsnErr = nil // the store reports that
	}
	faults := faulty(address("listen", c.Listen), address("admin-listen", c.AdminListen), natsCfg.Validate(), dsnErr, storeCfg.Validate(), restCfg.Validate(), keyErr,
		c.Archives.faults(), c.query().Validate(), c.Budgets.throttle().Validate(), c.Budgets.admission().Validate(), c.Budgets.auth(restCfg.BaseURL).Validate(), c.Traces.faults())
	if done, err := c.only(k, std.out, faults); done {
		return err
	}
	keys, err := auth.ReadKeyring(c.TokenKey, c.VerifyKeys...)
	if err != nil {
		return err
	}
	public, err := listen("listen", c.Listen)
	if err != nil {
		return err
	}
	private, err := listen("admin-listen", c.AdminListen)
	if err != nil {
		return err
	}
	if c.Edge.BaseURL == "" { // the port may have been chosen by the system
		restCfg.BaseURL = "http://" + reachable(public.Addr().String())
		log.Warn("no --base-url: tokens of nodes that are reached at other addresses are refused here, and those of this node there", "base_url", restCfg.BaseURL)
	}
	b, err := connect(natsCfg)
	if err != nil {
		return err
	}
	defer b.conn.Close()

	l, a := newLifecycle(log), newAdmin()
	a.serve(l, private)
	b.observe(a)
	traces, err := c.Traces.start(l, a, "query", log)
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	archives, err := openArchives(l, a, c.Archives.Archives)
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	if len(archives) == 0 {
		log.Warn("no archive is configured: the content of every archived file is missing")
	}
	var assets fs.FS
	if c.Assets != "" {
		assets = os.DirFS(c.Assets)
	} else {
		log.Warn("no --explorer-assets: the explorer shows nothing but that Preact is missing")
	}
	l.run("token keys", func(ctx context.Context) error { return keys.Follow(ctx, log, c.TokenKey, c.VerifyKeys...) })
	err = serveQueries(l, a, serving{
		assets: assets, listener: public, store: storeCfg, rest: restCfg, keys: keys, bus: b, log: log, archives: archives,
		query: c.query(), budgets: c.Budgets, memoryGoal: c.Memory << 20, traces: traces,
		stopDelay: c.StopDelay, replicas: c.Streams.Replicas, schemes: c.Edge.Schemes,
	})
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	log.Info("query service runs", "listen", public.Addr().String(), "admin", private.Addr().String())
	return errors.Join(l.wait(ctx), l.stop(c.StopGrace))
}

// serving is everything that the query role needs.
type serving struct {
	listener net.Listener
	// memoryGoal is how much the heap may hold on top of what reads and caches hold,
	// garbage included, before it is collected at once. Otherwise a burst of reads leaves
	// as much garbage as all that it held, and a stream produces too little to
	// trigger a collection soon. 0: no limit.
	memoryGoal int64
	store      store.Config
	archives   []query.Archive // tried in their order
	query      query.Config
	rest       rest.Config
	budgets    budgetFlags
	keys       *auth.Keyring
	bus        *bus
	schemes    []string // of redirect URIs
	assets     fs.FS    // of the explorer; nil: none
	log        *slog.Logger
	// stopDelay is how long a stop continues to serve while no longer ready.
	stopDelay time.Duration
	traces    *tracing
	replicas  int // of the buckets; 0: one
}

// serveQueries starts the query role as parts of the lifecycle.
func serveQueries(l *lifecycle, a *admin, s serving) error {
	metrics := newQueryMetrics()
	s.store.OnStatement = metrics.statementEnded
	node := admission.New(s.budgets.admission())
	s.store.Admission, s.query.Admission = node, node
	if err := requireTables(l, a, &s.store); err != nil {
		return err
	}
	checkpoints, err := seqlock.NewReader(seqlock.Config{Partitions: max(1, s.store.Shards), Replicas: s.replicas}, s.bus.conn, s.bus.js, s.log)
	if err != nil {
		return err
	}
	l.run("checkpoints", checkpoints.Run)
	s.store.Written, s.query.Written, s.query.Untouched = checkpoints.Written, checkpoints.Moved, checkpoints.Untouched
	st, err := store.New(s.store)
	if err != nil {
		return err
	}
	l.defers("query store", func(context.Context) error { return st.Close() })
	service, err := query.New(s.query, st, time.Now, s.archives...)
	if err != nil {
		return err
	}
	l.defers("text of streams on disk", func(context.Context) error { return service.Close() })
	if s.memoryGoal > 0 && os.Getenv("GOMEMLIMIT") == "" {
		held := func() int64 { return node.Stats().Held + rememberedBytes(service, st) }
		l.run("memory goal", func(ctx context.Context) error {
			return followHeld(ctx, s.memoryGoal, held, func(n int64) { debug.SetMemoryLimit(n) })
		})
	}
	revocations, shared := auth.RevocationDefaults(), auth.SharedDefaults()
	revocations.Replicas, shared.Replicas = max(1, s.replicas), max(1, s.replicas)
	revoked, err := auth.NewRevokedTokens(revocations, s.bus.js, s.log, time.Now)
	if err != nil {
		return err
	}
	l.run("revoked tokens", revoked.Run)
	throttle, err := auth.NewSharedThrottle(s.budgets.throttle(), shared, s.bus.js, s.log, time.Now)
	if err != nil {
		return err
	}
	l.run("rate limits", throttle.Run)
	authority, err := auth.New(s.budgets.auth(s.rest.BaseURL), auth.Deps{
		Keys: s.keys, Accounts: accounts{st}, Revocations: revoked, Throttle: throttle, Now: time.Now, Log: s.log,
	})
	if err != nil {
		return err
	}
	metrics.observe(a, queried{service, st, checkpoints, throttle, authority, revoked})
	surfaces, err := agentSurfaces(s, service, authority, st, metrics)
	if err != nil {
		return err
	}
	filters, err := explorerFilters()
	if err != nil {
		return err
	}
	pages, err := explorer.New(s.rest.BaseURL, filters, s.assets)
	if err != nil {
		return err
	}
	reference, err := docs.New(s.rest.BaseURL, runbook.Text)
	if err != nil {
		return err
	}
	surfaces = append(surfaces, rest.Mounted{Paths: pages.Paths(), Handler: pages}, rest.Mounted{Paths: reference.Paths(), Handler: reference})
	surface, err := rest.New(s.rest, rest.Deps{
		Service: service, Auth: authority, Logger: s.log, Now: time.Now, Mounted: surfaces,
		Serving: metrics.serving, Followed: metrics.fed, Ended: metrics.tailEnded, Tracer: s.traces.tracer("query/rest"),
	})
	if err != nil {
		return err
	}
	a.about("keys", func() any { return doctor.Keys{Token: s.keys.IDs(), Cursor: s.query.CursorKeyIDs()} })
	a.ready("clickhouse", st.Ping)
	a.ready("revoked tokens", func(context.Context) error {
		select {
		case <-revoked.Ready():
			return nil
		default:
			return fmt.Errorf("not read yet")
		}
	})
	var stopping atomic.Bool
	a.ready("not stopping", func(context.Context) error {
		if stopping.Load() {
			return errors.New("stopping")
		}
		return nil
	})
	serveHTTP(l, "query service", rest.NewServer(surface, s.log), s.listener, surface.Drain)
	l.defers("readiness", func(grace context.Context) error {
		stopping.Store(true)
		_ = client.Sleep(grace, s.stopDelay) // a stop that takes too long goes on
		return nil
	})
	return nil
}

// accounts provides the store's accounts to the login.
type accounts struct{ *store.Store }

func (a accounts) ByLogin(ctx context.Context, login string) (auth.Credentials, error) {
	c, err := a.Store.ByLogin(ctx, login)
	return auth.Credentials(c), err
}

const (
	memoryLook = 250 * time.Millisecond
	memoryStep = 16 << 20 // a smaller change is not worth the pause
)

// rememberedBytes is about how much of the heap the caches of a node hold.
func rememberedBytes(service *query.Service, st *store.Store) int64 {
	of := service.Stats()
	return int64(of.Remembered.Bytes + of.RememberedStreams.Bytes + st.Stats().Accounts.Bytes)
}

// followHeld keeps the memory limit, from which on garbage is collected at
// once, above what reads and caches hold, by the goal. A limit below what is in
// use would cause constant collection, and one sized for the most that they may
// hold would let garbage grow to that when they hold nothing.
func followHeld(ctx context.Context, goal int64, held func() int64, limit func(int64)) error {
	is := int64(0)
	every(ctx, memoryLook, func() (more bool) {
		if want := goal + held(); is == 0 || want >= is+memoryStep || want <= is-memoryStep {
			limit(want)
			is = want
		}
		return true
	})
	return nil
}
