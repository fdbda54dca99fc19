// Package rest serves the query service over HTTP: routes, decoding of
// requests, the forms of answers, problem details, streams. It contains no
// rules of the domain; those are in package query, and its handlers only
// translate.
//
// A handler returns an error or writes a complete answer; one table maps errors
// to statuses and one function writes them. A 2xx is complete: a failure after
// its first byte breaks the transfer, so that no client takes a part for the
// whole. contracts/openapi describes everything that is served under /v1 and
// /healthz.
package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/openapi"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/wire"
)

// Config is how the surface is reached and what it limits.
type Config struct {
	// BaseURL is where clients reach the service, without a slash at the end.
	BaseURL string
	// Build is the version of the running program.
	Build string
	// TrustedProxies may name the client in X-Forwarded-For; default none.
	TrustedProxies auth.Proxies
	// AllowedOrigins are the web origins whose pages may read answers;
	// default none.
	AllowedOrigins []string
	// MaxBodyBytes bounds a request body, MaxResponseBytes a JSON response.
	MaxBodyBytes     int64
	MaxResponseBytes int
	// Stall is how long a client may take nothing of an answer, or send nothing
	// of a body, before its connection is broken.
	Stall time.Duration
	// MinRate is how many bytes a second a client must take at least, over one
	// Stall spent waiting for it; otherwise its connection is broken. In any case
	// a client must take a piece of up to 256 KiB in one Stall.
	MinRate int64
	// Patience is how long a tail waits for a node that has no room or no
	// tables, before it ends.
	Patience time.Duration
	// ContinueTraces continues the trace that a request claims to be part of,
	// kept or not as decided there; use it only behind a proxy that sets or
	// removes traceparent itself. Otherwise every request begins its own trace.
	ContinueTraces bool
	// AccessLevel is the level at which each request is logged; default Info.
	AccessLevel slog.Level
}

// Defaults returns the published limits; BaseURL and Build stay empty.
func Defaults() Config {
	return Config{MaxBodyBytes: 64 << 10, MaxResponseBytes: 64 << 20, Stall: time.Minute, MinRate: 10 << 10, Patience: 10 * time.Second}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	u, err := url.Parse(c.BaseURL)
	f.Check(err == nil && isWeb(u) && u.User == nil && u.RawQuery == "" && u.Fragment == "" && !strings.HasSuffix(c.BaseURL, "/"),
		"base url: %q is not like https://host or https://host/path, without a slash at its end", c.BaseURL)
	f.Check(!strings.ContainsAny(c.BaseURL, "\"\\<>{}`"), "base url: %q holds a character that documents cannot", c.BaseURL)
	f.Check(c.Build != "", "build: missing")
	for _, p := range c.TrustedProxies {
		f.Check(p.IsValid(), "trusted proxies: %s is not a prefix like 10.0.0.0/8", p)
	}
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		f.Check(err == nil && isWeb(u) && o == u.Scheme+"://"+u.Host, "allowed origins: %q is not like https://host:port", o)
	}
	f.Check(c.MaxBodyBytes > 0, "max body bytes: not positive")
	f.Check(c.MaxResponseBytes > 0, "max response bytes: not positive")
	f.Check(c.Stall >= time.Second, "stall: less than a second")
	f.Check(c.MinRate >= 0, "min-read-rate: negative")
	f.Check(c.Patience > 0, "patience: not positive")
	return f.Err()
}

func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// Deps are what the surface depends on.
type Deps struct {
	Service *query.Service
	Auth    *auth.Authority
	Logger  *slog.Logger
	Now     func() time.Time
	// Mounted are other surfaces, behind the same edge.
	Mounted []Mounted
	// Serving is called at the beginning of every request, and the function it
	// returns at its end; nil: no reports. It may be called concurrently.
	Serving func() func(Served)
	// Followed is called when rows were written to a tail that had waited for
	// them, with the time since this node learned that they are visible; nil: no
	// reports. It may be called concurrently.
	Followed func(time.Duration)
	// Ended is called when a tail ends, with one of TailEnds; nil: no reports. It
	// may be called concurrently.
	Ended func(reason string)
	// Tracer creates the spans of requests; nil: there are none.
	Tracer trace.Tracer
}

// api holds what handlers need.
type api struct {
	cfg      Config
	service  *query.Service
	auth     *auth.Authority
	throttle *auth.Throttle
	docs     []openapi.Document
	log      *slog.Logger
	now      func() time.Time
	serving  func() func(Served)
	followed func(time.Duration)
	ended    func(string)
	tails    tailTimes
	tracer   trace.Tracer
	stopping context.Context // ends when this node is about to stop
	stop     context.CancelFunc
}

const (
	streamPath   = "/v1/results/stream"
	downloadPath = "/history/download" // after the exports or imports of an order
)

// New builds the surface. It starts nothing.
func New(cfg Config, deps Deps) (*Surface, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Service == nil || deps.Auth == nil || deps.Logger == nil || deps.Now == nil {
		return nil, errors.New("rest: a dependency is missing")
	}
	docs, err := openapi.Documents(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	a := &api{
		cfg: cfg, service: deps.Service, auth: deps.Auth, throttle: deps.Auth.Throttle(),
		docs: docs, log: deps.Logger, now: deps.Now, serving: deps.Serving, followed: deps.Followed, ended: deps.Ended, tracer: deps.Tracer, tails: usualTailTimes,
	}
	a.stopping, a.stop = context.WithCancel(context.Background())
	if a.serving == nil {
		a.serving = func() func(Served) { return func(Served) {} }
	}
	if a.followed == nil {
		a.followed = func(time.Duration) {}
	}
	if a.ended == nil {
		a.ended = func(string) {}
	}
	zip, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.CompressionLevel(4))
	if err != nil {
		return nil, err
	}
	compress := func(h http.Handler) http.Handler { return withoutLength(zip(h)) }
	engine := a.caught(a.routes())
	compressed := compress(engine)
	split := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Streams compress by themselves, because their rows, like those of a
		// tail, must not wait for a full buffer. Files are sent unchanged, for
		// their length, their hash and their ranges.
		if r.URL.Path == streamPath || hasRows(r) || follows(r) || strings.HasSuffix(r.URL.Path, downloadPath) {
			engine.ServeHTTP(w, r)
			return
		}
		compressed.ServeHTTP(w, r)
	})
	all := a.mount(deps.Mounted, a.cors().Handler(split), compress)
	s := &Surface{api: a}
	s.handler = a.edge(s.admit(all))
	return s, nil
}

func (a *api) routes() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.NoRoute(a.handle(a.notFound))
	e.NoMethod(a.handle(a.wrongMethod))

	get(e, "/healthz", a.handle(a.health))
	get(e, "/problems/:code", a.handle(a.problemPage))
	for _, d := range a.docs {
		get(e, d.Path, a.handle(a.document(d)))
	}
	e.POST("/v1/auth/token", a.handle(a.token))
	e.POST("/v1/auth/logout", a.handle(a.logout))
	get(e, "/v1/sites", a.answers(wire.Sites))
	get(e, "/v1/items", a.answers(wire.Items))
	get(e, "/v1/items/asin-locales", a.answers(wire.ASINLocales))
	get(e, "/v1/orders", a.answers(wire.Orders))
	get(e, "/v1/orders/:orderId", a.answers(wire.Order))
	get(e, "/v1/orders/:orderId/observation-quality", a.answers(wire.ObservationQuality))
	for name, d := range map[string]query.Direction{"exports": query.Exports, "imports": query.Imports} {
		files := "/v1/orders/:orderId/" + name
		get(e, files, a.answers(wire.FileJobs(d)))
		get(e, files+"/history", a.answers(wire.History(d)))
		get(e, files+"/history/latest", a.answers(wire.LatestFile(d)))
		get(e, files+downloadPath, a.handle(a.reads(a.heavy(a.download(d)))))
	}
	get(e, "/v1/results", a.handle(a.reads(a.heavy(a.results))))
	e.GET(streamPath, a.handle(a.reads(a.stream)))
	get(e, "/v1/results/capabilities", a.answers(wire.Capabilities))
	a.extend(e)
	return e
}

// handler answers a request or returns why it cannot.
type handler func(c *gin.Context) error

// reader is a handler that knows its caller.
type reader func(c *gin.Context, p query.Principal) error

func (a *api) handle(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		x := exchangeOf(c.Request)
		x.route = cmp.Or(c.FullPath(), noRoute)
		if err := h(c); err != nil {
			a.fail(c, err)
		}
	}
}

// panicked turns a panic into a problem, or breaks the transfer if an answer has
// begun.
func (a *api) panicked(w http.ResponseWriter, r *http.Request, v any) {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	a.logPanic(r, v)
	x := exchangeOf(r)
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	p := wire.ProblemOf(&fault.Error{Kind: fault.Internal}, a.cfg.BaseURL)
	x.code = p.Code
	a.write(w, p)
}

// underContract reports whether answers of a path have rate-limit headers.
func underContract(path string) bool {
	path = strings.TrimPrefix(path, "/ext")
	return path == "/v1" || strings.HasPrefix(path, "/v1/")
}

// unknown counts requests to paths that have no route.
func (a *api) unknown(c *gin.Context) error {
	if !underContract(c.Request.URL.Path) {
		return nil
	}
	quota, err := a.throttle.Anonymous(a.cfg.TrustedProxies.Client(c.Request))
	setQuota(c.Writer.Header(), quota)
	return err
}

func (a *api) notFound(c *gin.Context) error {
	if err := a.unknown(c); err != nil {
		return err
	}
	if a.nothingForPeople(c) {
		return nil
	}
	return fault.New(fault.NotFound, wire.CodeNotFound, "There is nothing at this path.")
}

func (a *api) wrongMethod(c *gin.Context) error {
	if err := a.unknown(c); err != nil {
		return err
	}
	return fault.New(fault.Invalid, wire.CodeMethodNotAllowed, "This path does not take this method. Allow says which it takes.")
}

type health struct {
	Status          string `json:"status"`
	ContractVersion string `json:"contractVersion"`
	Build           string `json:"build"`
}

func (a *api) health(c *gin.Context) error {
	return a.writeJSON(c, health{Status: "ok", ContractVersion: openapi.Version(), Build: a.cfg.Build})
}

// cors lets pages of the allowed origins read answers. Every answer varies by
// Origin, including those to none of them.
func (a *api) cors() *cors.Cors {
	return cors.New(cors.Options{
		AllowOriginFunc: func(origin string) bool { return slices.Contains(a.cfg.AllowedOrigins, origin) },
		AllowedMethods:  []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders:  []string{"Authorization", "Content-Type", "Range", "If-Range", "If-Match", "If-None-Match", "Prefer", requestIDHeader, "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"},
		ExposedHeaders: []string{
			requestIDHeader, limitHeader, remainingHeader, resetHeader, policyField, quotaField, "Retry-After", "WWW-Authenticate", scopeHeader,
			returnedHeader, nextCursorHeader, queryHeader, "Link",
			"Content-Disposition", "Content-Range", "ETag", digestHeader,
		},
		MaxAge: 600,
	})
}

// NewServer builds the server for a handler: bounded headers, and no limit on
// how long a whole answer takes.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h,
		// OPTIONS * goes through the edge, like everything else.
		DisableGeneralOptionsHandler: true,
		ConnContext:                  withConn,
		ReadHeaderTimeout:            10 * time.Second,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               64 << 10,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
