// Package auth establishes who a caller is: it checks passwords; signs,
// verifies and revokes access tokens; and counts requests. The REST surface
// uses it, and so does every other surface that accepts our tokens.
//
// Tokens are JWTs (RFC 9068), signed with Ed25519 only. A token proves an
// account and nothing more: what the account may see is read with each request.
// Every invalid token gets the same fault, and a token whose revocation cannot
// be looked up is refused. Requests are counted by all nodes together, or by
// each node alone while they cannot reach each other.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// RESTAudience is the audience of the tokens of POST /v1/auth/token. Tokens of
// other surfaces have the URL of their resource as their audience.
const RESTAudience = "preismon-rest"

// CodeCredentialsInvalid is the code of a refused login.
const CodeCredentialsInvalid = "AUTH_CREDENTIALS_INVALID"

// Limits of what a login may send.
const (
	MaxLoginBytes    = 256
	MaxPasswordBytes = 1024
)

// Config sets the issuer and lifetime of tokens, and how passwords are checked.
type Config struct {
	// Issuer is the base URL of the service: the iss of every token.
	Issuer string
	// TokenLifetime is the lifetime of REST tokens.
	TokenLifetime time.Duration
	// HashesAtOnce bounds how many passwords are hashed at the same time;
	// HashWait is how long a login waits for its turn.
	HashesAtOnce int
	HashWait     time.Duration
	// Hash holds the parameters of new hashes. A login that does not exist
	// costs one such hash, so all accounts should be hashed with the same
	// parameters.
	Hash argon2id.Params
}

// Defaults returns the published lifetime and the minimum parameters that OWASP
// recommends for argon2id (19 MiB, 2 passes, 1 lane); Issuer stays empty.
func Defaults() Config {
	return Config{
		TokenLifetime: 4 * time.Hour,
		HashesAtOnce:  2,
		HashWait:      15 * time.Second,
		Hash:          argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Issuer != "", "issuer: missing")
	f.Check(!strings.HasSuffix(c.Issuer, "/"), "issuer: %q ends with a slash", c.Issuer)
	f.Check(c.TokenLifetime >= time.Second && c.TokenLifetime <= maxLifetime, "token lifetime: %s, from 1s to %s", c.TokenLifetime, maxLifetime)
	f.Check(c.HashesAtOnce > 0, "hashes at once: not positive")
	f.Check(c.HashWait > 0, "hash wait: not positive")
	f.Under("hash", boundHash(&c.Hash))
	return f.Err()
}

// Accounts finds the account that a login is checked against, and the accounts
// that may still act.
type Accounts interface {
	// ByLogin expects a login in lower case without surrounding blanks. If
	// there is no such login, it returns a NotFound fault.
	ByLogin(ctx context.Context, login string) (Credentials, error)
	// Active returns the given accounts that exist and are neither disabled nor
	// administrative.
	Active(ctx context.Context, accounts []contracts.AccountID) ([]contracts.AccountID, error)
}

// Credentials are the parts of an account that a login needs.
type Credentials struct {
	Account        contracts.AccountID
	PasswordHash   string // argon2id in PHC form
	Administrative bool
	Disabled       bool
}

// Revocations remembers revoked tokens across all nodes.
type Revocations interface {
	// Revoke makes a token id invalid until its token has expired. If the id is
	// already revoked, Revoke returns the fault of a revoked token.
	Revoke(ctx context.Context, jti string, until time.Time) error
	// Revoked reports whether an id is revoked, or returns an Unavailable fault
	// when this node cannot know.
	Revoked(jti string) (bool, error)
}

// Deps are the dependencies of an Authority.
type Deps struct {
	Keys        *Keyring
	Accounts    Accounts
	Revocations Revocations
	Throttle    *Throttle
	Now         func() time.Time
	Log         *slog.Logger // nil: none
}

// Authority issues and verifies tokens.
type Authority struct {
	cfg    Config
	deps   Deps
	hasher *hasher
	logins [4]atomic.Uint64 // as in LoginStats
	holds  holds
	cut    atomic.Uint64
	warned atomic.Int64 // when a token of another issuer was last logged, Unix seconds
}

// New returns an Authority. It computes one password hash.
func New(cfg Config, deps Deps) (*Authority, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Keys == nil || deps.Accounts == nil || deps.Revocations == nil || deps.Throttle == nil || deps.Now == nil {
		return nil, errors.New("auth: a dependency is missing")
	}
	h, err := newHasher(cfg)
	if err != nil {
		return nil, err
	}
	return &Authority{cfg: cfg, deps: deps, hasher: h}, nil
}

// NewIssuer returns an Authority that only issues tokens, signed with the key in
// a file. It has no accounts and no revocations: nothing else of it may be called.
func NewIssuer(issuer, keyFile string) (*Authority, error) {
	keys, err := ReadKeyring(keyFile)
	if err != nil {
		return nil, err
	}
	throttle, err := NewThrottle(ThrottleDefaults(), time.Now)
	if err != nil {
		return nil, err
	}
	cfg := Defaults()
	cfg.Issuer = issuer
	return New(cfg, Deps{Keys: keys, Throttle: throttle, Now: time.Now, Accounts: struct{ Accounts }{}, Revocations: struct{ Revocations }{}})
}

// Throttle returns the Throttle that counts for this Authority.
func (a *Authority) Throttle() *Throttle { return a.deps.Throttle }

// Login is one attempt to log in.
type Login struct {
	Identifier string
	Password   contracts.Secret
	Address    string // of the client, see AddressKey
}

// Login checks a password. It counts the attempt for the login and for the
// address, and always returns the tighter of the two quotas. An unknown login,
// a wrong password, and an administrative or disabled account all fail in the
// same way, after the same work.
func (a *Authority) Login(ctx context.Context, l Login) (contracts.AccountID, Quota, error) {
	account, quota, err := a.login(ctx, l)
	a.countLogin(err)
	return account, quota, err
}

func (a *Authority) login(ctx context.Context, l Login) (contracts.AccountID, Quota, error) {
	login := norm.NFC.String(strings.ToLower(strings.TrimSpace(l.Identifier)))
	if login == "" || len(login) > MaxLoginBytes {
		quota, err := a.deps.Throttle.Attempt(l.Address, "")
		if err == nil {
			err = fault.New(fault.Invalid, query.CodeValidation, "loginIdentifier: empty or longer than %d bytes.", MaxLoginBytes)
		}
		return 0, quota, err
	}
	quota, err := a.deps.Throttle.Attempt(l.Address, login)
	if err != nil {
		return 0, quota, err
	}
	if l.Password == "" || len(l.Password) > MaxPasswordBytes {
		return 0, quota, fault.New(fault.Invalid, query.CodeValidation, "password: empty or longer than %d bytes.", MaxPasswordBytes)
	}
	found, err := a.lookUp(ctx, login)
	unknown := err != nil && fault.KindOf(err) == fault.NotFound
	if err != nil && !unknown {
		return 0, quota, err
	}
	hash := found.PasswordHash
	if unknown {
		hash = a.hasher.dummy
	}
	match, err := a.hasher.check(ctx, l.Password.Reveal(), hash)
	if err != nil {
		return 0, quota, err
	}
	if unknown || !match || found.Administrative || found.Disabled {
		return 0, quota, fault.New(fault.Unauthenticated, CodeCredentialsInvalid, "The login or the password is wrong.")
	}
	return found.Account, quota, nil
}

// lookupWait is how long a login waits for its account to be found.
const lookupWait = 10 * time.Second

// lookUp finds an account. A lookup that takes too long fails as Unavailable.
func (a *Authority) lookUp(ctx context.Context, login string) (Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupWait)
	defer cancel()
	found, err := a.deps.Accounts.ByLogin(ctx, login)
	if err != nil && (fault.KindOf(err) == fault.Timeout || errors.Is(err, context.DeadlineExceeded)) {
		err = &fault.Error{Kind: fault.Unavailable, Msg: "Logins cannot be checked at the moment. Try again shortly.", RetryAfter: lookupWait, Err: err}
	}
	return found, err
}

// Grant describes a token to be issued.
type Grant struct {
	Account  contracts.AccountID
	Audience string
	Lifetime time.Duration

	// For a client of an authorization server; otherwise empty.
	Scopes  []string
	Client  string // its client_id
	Session string // ended by RevokeSession; unguessable
}

// Issued is a new token.
type Issued struct {
	Token   contracts.Secret
	Expires time.Time
}

// IssueREST issues a token for the REST surface, with its lifetime.
func (a *Authority) IssueREST(account contracts.AccountID) (Issued, time.Duration, error) {
	issued, err := a.Issue(Grant{Account: account, Audience: RESTAudience, Lifetime: a.cfg.TokenLifetime})
	return issued, a.cfg.TokenLifetime, err
}

// Issue signs a token.
func (a *Authority) Issue(g Grant) (Issued, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return Issued{}, err
	}
	now := a.deps.Now()
	return a.deps.Keys.sign(claims(a.cfg.Issuer, g, id.String(), now))
}

// Verify returns the verified token. A token that is malformed, expired,
// revoked, or made for another audience always gets the same fault; a token
// whose revocation cannot be looked up gets an Unavailable fault.
func (a *Authority) Verify(raw, audience string) (*Token, error) {
	t, err := a.deps.Keys.parse(raw, expected{issuer: a.cfg.Issuer, audience: audience, now: a.deps.Now()})
	if err != nil {
		a.explain(err)
		return nil, refused(err)
	}
	if err := a.standing(t); err != nil {
		return nil, err
	}
	return t, nil
}

// explain logs, at most once a minute, that a token signed by one of our keys
// names another issuer: the nodes then have different base URLs, and the caller
// only learns that the token is invalid.
func (a *Authority) explain(err error) {
	other, ok := errors.AsType[errIssuer](err)
	if !ok || a.deps.Log == nil {
		return
	}
	now, last := a.deps.Now().Unix(), a.warned.Load()
	if now-last < 60 || !a.warned.CompareAndSwap(last, now) {
		return
	}
	a.deps.Log.Warn("a token of another node is refused: give all nodes the same --base-url", "token_issuer", other.got, "base_url", other.want)
}

// standing reports why a token that was verified before is no longer good; nil:
// its key is still among ours, it has not expired, and neither it nor its
// session is revoked.
func (a *Authority) standing(t *Token) error {
	switch {
	case !a.deps.Keys.knows(t.key):
		return refused(errors.New("kid: no longer known"))
	case !a.deps.Now().Before(t.Expires):
		return refused(errors.New("exp: over"))
	}
	for _, id := range []string{t.ID, t.Session} {
		if id == "" {
			continue
		}
		revoked, err := a.deps.Revocations.Revoked(id)
		if err != nil {
			return err
		}
		if revoked {
			return refused(errRevoked)
		}
	}
	return nil
}

// RevokeSession makes every token of a session invalid, including those issued
// later, until the last of them has expired. Revoking a session again is not an
// error.
func (a *Authority) RevokeSession(ctx context.Context, session string, until time.Time) error {
	err := a.deps.Revocations.Revoke(ctx, session, until)
	if err != nil && fault.KindOf(err) == fault.Unauthenticated {
		return nil // it was revoked before
	}
	return err
}

// Revoke makes a verified token invalid. It returns false for a token without
// an id, which can only expire (AUTH-L3).
func (a *Authority) Revoke(ctx context.Context, t *Token) (bool, error) {
	if t.ID == "" {
		return false, nil
	}
	if err := a.deps.Revocations.Revoke(ctx, t.ID, t.Expires); err != nil {
		return false, err
	}
	return true, nil
}

var errRevoked = errors.New("revoked")

func refused(why error) error {
	return &fault.Error{
		Kind: fault.Unauthenticated, Code: query.CodeTokenInvalid, Err: why,
		Msg: "The access token is missing, expired, malformed or revoked.",
	}
}

// TokenMissing returns the fault for a request without a token: the same fault
// as for an invalid one.
func TokenMissing() error { return refused(errors.New("missing")) }
