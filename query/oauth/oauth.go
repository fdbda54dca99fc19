// Package oauth is the authorization server for MCP clients: OAuth 2.1 with
// authorization code, PKCE and rotating refresh tokens, for public clients
// and for one resource, the MCP endpoint of this service.
//
// Nodes share no memory. Clients are not stored at all: a client id is the
// signed metadata itself, or the URL of a document. A login in progress is
// sealed into its own form. What may happen only once is decided by compare and
// set on one record per consent, in a NATS key-value bucket; a node that cannot
// reach the bucket grants nothing.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/oauth/clientdoc"
	"preismon/query/oauth/page"
)

// Config holds the identity of an authorization server, its lifetimes and
// limits.
type Config struct {
	// BaseURL is the issuer, without a trailing slash. The resource is the path
	// /mcp below it.
	BaseURL string
	// Key seals client ids, logins in progress and refresh tokens. It must be
	// the same on all nodes. VerifyKeys are other keys whose seals are still
	// valid; what was sealed with any other key is no longer valid.
	Key        contracts.Secret
	VerifyKeys []contracts.Secret
	// Bucket and Replicas describe the NATS key-value bucket.
	Bucket   string
	Replicas int
	// Wait bounds how long a request waits for the bucket.
	Wait time.Duration

	AccessLifetime time.Duration
	// RefreshLifetime counts from the consent; a refresh does not prolong it.
	RefreshLifetime time.Duration
	// RefreshGrace is how long a refresh token still works after its first use.
	RefreshGrace time.Duration
	CodeLifetime time.Duration
	// PageLifetime is how long a login page or a consent page is valid.
	PageLifetime time.Duration

	// Schemes are allowed in redirect URIs of programs, in addition to https,
	// loopback and reversed domain names.
	Schemes []string
	// TrustedProxies may name the client in X-Forwarded-For; none by default.
	TrustedProxies auth.Proxies
}

// MinKeyBytes is the minimum length of Config.Key.
const MinKeyBytes = 32

// Defaults returns the published lifetimes (choices 58); BaseURL and Key stay
// empty.
func Defaults() Config {
	return Config{
		Bucket: "preismon_oauth", Replicas: 1, Wait: 5 * time.Second,
		AccessLifetime: 24 * time.Hour, RefreshLifetime: 30 * 24 * time.Hour, RefreshGrace: 30 * time.Second,
		CodeLifetime: time.Minute, PageLifetime: 10 * time.Minute,
	}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	u, err := url.Parse(c.BaseURL)
	f.Check(err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && !strings.HasSuffix(c.BaseURL, "/") &&
		(u.Scheme == "https" || u.Scheme == "http" && clientdoc.Loopback(u)),
		"base url: %q is not like https://host or https://host/path, without a slash at its end; http is for this computer alone", c.BaseURL)
	f.Check(len(c.Key) >= MinKeyBytes, "key: shorter than %d bytes", MinKeyBytes)
	for i, k := range c.VerifyKeys {
		f.Check(len(k) >= MinKeyBytes, "verify keys: number %d is shorter than %d bytes", i+1, MinKeyBytes)
	}
	f.Check(c.Bucket != "", "bucket: missing")
	f.Check(c.Replicas >= 1, "replicas: less than 1")
	f.Check(c.Wait > 0, "wait: not positive")
	f.Check(c.AccessLifetime >= time.Minute && c.AccessLifetime <= 30*24*time.Hour, "access lifetime: %s, from 1m to 720h", c.AccessLifetime)
	f.Check(c.RefreshLifetime >= c.AccessLifetime, "refresh lifetime: %s, shorter than the access lifetime", c.RefreshLifetime)
	f.Check(c.RefreshGrace >= 0 && c.RefreshGrace <= 5*time.Minute, "refresh grace: %s, from 0 to 5m", c.RefreshGrace)
	f.Check(c.CodeLifetime >= time.Second && c.CodeLifetime <= 10*time.Minute, "code lifetime: %s, from 1s to 10m", c.CodeLifetime)
	f.Check(c.PageLifetime >= time.Minute && c.PageLifetime <= time.Hour, "page lifetime: %s, from 1m to 1h", c.PageLifetime)
	for _, name := range c.Schemes {
		f.Check(clientdoc.ValidScheme(name), "schemes: %q is not that of a program", name)
	}
	for _, p := range c.TrustedProxies {
		f.Check(p.IsValid(), "trusted proxies: %s is not a prefix like 10.0.0.0/8", p)
	}
	return f.Err()
}

// Accounts returns what an account may do now; NotFound if there is none.
type Accounts interface {
	Access(ctx context.Context, account contracts.AccountID) (*query.Access, error)
}

// Deps are the dependencies of a Server.
type Deps struct {
	Auth      *auth.Authority
	Accounts  Accounts
	Documents Documents
	JetStream jetstream.JetStream
	Logger    *slog.Logger
	Now       func() time.Time
	// Granted is called after every request for tokens, with its grant type,
	// which is authorization_code, refresh_token or other, and the code of its
	// failure, empty for none. Nil: no calls. Calls may be concurrent.
	Granted func(grantType, failure string)
}

// Server answers the requests of Paths.
type Server struct {
	cfg       Config
	base      *url.URL // cfg.BaseURL
	deps      Deps
	resource  string
	keys      keyring
	store     *store
	csrf      *http.CrossOriginProtection
	log       *slog.Logger
	now       func() time.Time
	endpoints map[string]endpoint
}

// New returns a Server. It starts nothing; the bucket is opened when it is
// first needed.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Auth == nil || deps.Accounts == nil || deps.Documents == nil || deps.JetStream == nil || deps.Logger == nil || deps.Now == nil {
		return nil, errors.New("oauth: a dependency is missing")
	}
	k, err := deriveKeyring(cfg.Key, cfg.VerifyKeys)
	if err != nil {
		return nil, err
	}
	base, _ := url.Parse(cfg.BaseURL) // validated
	s := &Server{
		cfg: cfg, base: base, deps: deps, resource: cfg.BaseURL + ResourcePath, keys: k,
		store: newStore(cfg, deps.JetStream), csrf: http.NewCrossOriginProtection(), log: deps.Logger, now: deps.Now,
	}
	if err := s.csrf.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, err
	}
	s.endpoints, err = s.routes()
	return s, err
}

// endpoint handles one path.
type endpoint struct {
	methods map[string]func(http.ResponseWriter, *http.Request) error
	fail    func(http.ResponseWriter, *http.Request, error)
	open    bool // to pages of any origin
}

// The paths below the base URL.
const (
	ResourcePath  = "/mcp"
	authorizePath = "/oauth/authorize"
	loginPath     = "/oauth/authorize/login"
	consentPath   = "/oauth/authorize/consent"
	tokenPath     = "/oauth/token"
	registerPath  = "/oauth/register"
	revokePath    = "/oauth/revoke"
)

func (s *Server) routes() (map[string]endpoint, error) {
	type methods = map[string]func(http.ResponseWriter, *http.Request) error
	shown := func(m methods) endpoint { return endpoint{methods: m, fail: s.failPage} }
	call := func(m methods) endpoint { return endpoint{methods: m, fail: s.failJSON, open: true} }
	all := map[string]endpoint{
		authorizePath: shown(methods{"GET": s.authorize, "HEAD": s.authorize}),
		loginPath:     shown(methods{"POST": s.login}),
		consentPath:   shown(methods{"POST": s.consent}),
		tokenPath:     call(methods{"POST": s.token}),
		registerPath:  call(methods{"POST": s.register}),
		revokePath:    call(methods{"POST": s.revoke}),
	}
	style := func(w http.ResponseWriter, r *http.Request) error {
		page.Style().ServeHTTP(w, r)
		return nil
	}
	all[page.StylePath] = shown(methods{"GET": style, "HEAD": style})
	documents, err := s.metadata()
	for path, body := range documents {
		give := func(w http.ResponseWriter, _ *http.Request) error {
			writeBody(w, http.StatusOK, body)
			return nil
		}
		all[path] = call(methods{"GET": give, "HEAD": give})
	}
	return all, err
}

// Paths returns the paths that the Server answers, in no particular order.
func (s *Server) Paths() []string { return slices.Collect(maps.Keys(s.endpoints)) }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // for the redirect to the client too
	e, ok := s.endpoints[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if e.open && openToAll(w, r, e) {
		return
	}
	answer, ok := e.methods[r.Method]
	if !ok {
		h.Set("Allow", e.allow())
		e.fail(w, r, errMethod)
		return
	}
	if r.Method == http.MethodPost {
		// A client that goes away does not stop what it started, such as the
		// end of a session; every step has its own time limit.
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	if err := answer(w, r); err != nil {
		e.fail(w, r, err)
	}
}

// origin returns the key of the address that a request comes from.
func (s *Server) origin(r *http.Request) string { return s.cfg.TrustedProxies.Client(r) }

// count counts a request for its address, but not for its client: all users of
// a client share its id, and one of them could lock out the others.
func (s *Server) count(r *http.Request) error {
	_, err := s.deps.Auth.Throttle().Anonymous(s.origin(r))
	return err
}

// note logs one line about what was granted or ended, without tokens and codes.
func (s *Server) note(r *http.Request, w http.ResponseWriter, what string, args ...any) {
	s.log.InfoContext(r.Context(), what, append(args, "request_id", cmp.Or(w.Header().Get("X-Request-Id"), "none"))...)
}
