package mcp

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/auth"
)

// Config is how the surface is reached and what it limits.
type Config struct {
	// BaseURL is where clients reach the service, without a slash at the end.
	// The audience of access tokens is BaseURL + "/mcp".
	BaseURL string
	// Build is the version of the running program.
	Build string
	// AllowedOrigins are the web origins whose pages may call, in addition to
	// that of BaseURL; default none.
	AllowedOrigins []string
	// TrustedProxies may name the client in X-Forwarded-For; default none.
	TrustedProxies auth.Proxies
	// MaxBodyBytes bounds a request body, MaxResponseBytes a whole answer: one
	// response, or all responses to a batch together (LIM-02a, LIM-02b).
	MaxBodyBytes     int64
	MaxResponseBytes int
}

// Defaults returns the published limits; BaseURL and Build stay empty.
func Defaults() Config {
	return Config{MaxBodyBytes: 1 << 20, MaxResponseBytes: 64 << 20}
}

// floorBytes is the room for the error of every message of a full batch.
const floorBytes = maxMessages * 8 << 10

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	u, err := url.Parse(c.BaseURL)
	f.Check(err == nil && isWeb(u) && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path[len(u.Path)-1] != '/'),
		"base url: %q is not like https://host or https://host/path, without a slash at its end", c.BaseURL)
	f.Check(len(c.BaseURL) <= 1024, "base url: %d bytes, at most 1024", len(c.BaseURL))
	f.Check(c.Build != "" && len(c.Build) <= 256, "build: %d bytes, from 1 to 256", len(c.Build))
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		f.Check(err == nil && isWeb(u) && o == u.Scheme+"://"+u.Host, "allowed origins: %q is not like https://host:port", o)
	}
	for _, p := range c.TrustedProxies {
		f.Check(p.IsValid(), "trusted proxies: %s is not a prefix like 10.0.0.0/8", p)
	}
	f.Check(c.MaxBodyBytes > 0, "max body bytes: not positive")
	f.Check(int64(c.MaxResponseBytes) >= c.MaxBodyBytes+floorBytes,
		"max response bytes: %d, at least %d more than max body bytes, for the errors of a full batch", c.MaxResponseBytes, floorBytes)
	return f.Err()
}

func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// Deps are what the surface depends on.
type Deps struct {
	Service *query.Service
	Auth    *auth.Authority
	Logger  *slog.Logger
	Now     func() time.Time
	// Called is called with every finished call of a tool; nil: no reports. It
	// may be called concurrently.
	Called func(Called)
}

// Called describes one finished call of a tool.
type Called struct {
	Tool string
	Code string // of the problem, or cancelled; empty: there is a result
	Took time.Duration
}

// handler answers POST /mcp.
type handler struct {
	cfg      Config
	auth     *auth.Authority
	throttle *auth.Throttle
	node     *admission.Node
	log      *slog.Logger
	called   func(Called)
	base     *url.URL

	legacy, modern *sdk.Server
	envelope       int // most bytes of a tool's response without its id and its object
	refused        int // most bytes of a RESPONSE_TOO_LARGE response without its id
}

// New builds the handler of POST /mcp; the path is up to the caller. It starts
// nothing.
func New(cfg Config, deps Deps) (http.Handler, error) {
	if deps.Service == nil {
		return nil, errMissing
	}
	c, err := offer(deps.Service)
	if err != nil {
		return nil, err
	}
	return newHandler(cfg, deps, c)
}

var errMissing = errors.New("mcp: a dependency is missing")

func newHandler(cfg Config, deps Deps, c catalogue) (http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Service == nil || deps.Auth == nil || deps.Logger == nil || deps.Now == nil {
		return nil, errMissing
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	h := &handler{cfg: cfg, auth: deps.Auth, throttle: deps.Auth.Throttle(), node: deps.Service.Admission(), log: deps.Logger, called: deps.Called, base: base}
	h.legacy, h.modern = h.profiles(c)
	if err := h.measure(); err != nil {
		return nil, err
	}
	return h, nil
}
