package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Rate allows a number of requests in each window of a key. A window begins
// with the key's first request, not with the clock's minute, so that the
// windows of all keys do not begin at once.
type Rate struct {
	Requests int
	Per      time.Duration
}

// ThrottleConfig holds the limits of requests.
type ThrottleConfig struct {
	// A network of IPv6 (a /48) may send networkShare times as many requests as
	// one of its addresses (a /64).
	Reads    Rate // of one account, over all surfaces; and of one address before an account is known
	Attempts Rate // to get a token, by login and by address
	// HeavyAtOnce bounds the heavy reads that one account may run at the same
	// time.
	HeavyAtOnce int
	// MaxKeys bounds the memory of each counter; beyond it, the key whose
	// window began first is forgotten.
	MaxKeys int
}

// ThrottleDefaults returns the published limits (choices 34).
func ThrottleDefaults() ThrottleConfig {
	return ThrottleConfig{
		Reads:       Rate{Requests: 600, Per: time.Minute},
		Attempts:    Rate{Requests: 10, Per: time.Minute},
		HeavyAtOnce: 8,
		MaxKeys:     100_000,
	}
}

// Validate reports every fault of the configuration.
func (c ThrottleConfig) Validate() error {
	var f contracts.Faults
	for name, r := range map[string]Rate{"reads": c.Reads, "attempts": c.Attempts} {
		f.Check(r.Requests > 0, "%s: requests: not positive", name)
		f.Check(r.Per >= time.Second, "%s: per: less than a second", name)
	}
	f.Check(c.HeavyAtOnce > 0, "heavy at once: not positive")
	f.Check(c.MaxKeys > 0, "max keys: not positive")
	return f.Err()
}

// Throttle counts requests, in the memory of this node or together with other
// nodes.
type Throttle struct {
	accounts, addresses                counter
	attemptsByLogin, attemptsByAddress counter

	bucket   *bucket // nil: counts on this node alone
	heavyMax int
	heavy    semaphore
	running  atomic.Int64      // heavy reads on this node
	tallies  map[string]*tally // by limit; complete from the start
}

// counter counts one request of a key, and refuses it if there were too many.
type counter interface {
	take(key string) (Quota, error)
}

// limiter is a counter that can also be asked without counting.
type limiter interface {
	counter
	// spent reports whether the key has no request left, as far as this node
	// knows, and where it stands then.
	spent(key string) (Quota, bool)
}

// NewThrottle returns a Throttle that counts in the memory of this node.
func NewThrottle(cfg ThrottleConfig, now func() time.Time) (*Throttle, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return newThrottle(cfg, func(name string, r Rate) limiter { return newWindows(limit{name, r, cfg.MaxKeys, now}) }), nil
}

// NewSharedThrottle returns a Throttle that counts together with all nodes that
// use the same bucket, once Run is running. A node that cannot reach the bucket
// counts alone: the limits then apply to each node.
func NewSharedThrottle(cfg ThrottleConfig, shared SharedConfig, js jetstream.JetStream, log *slog.Logger, now func() time.Time) (*Throttle, error) {
	if err := errors.Join(cfg.Validate(), shared.Validate()); err != nil {
		return nil, err
	}
	b := &bucket{cfg: shared, ttl: 2 * max(cfg.Reads.Per, cfg.Attempts.Per), js: js, log: log}
	of := func(name string, r Rate) limiter {
		l := limit{name, r, cfg.MaxKeys, now}
		w := &sharedWindows{limit: l, bucket: b, alone: newWindows(l), byKey: map[string]*share{}, lent: map[*share]struct{}{}}
		b.count = append(b.count, w)
		return w
	}
	t := newThrottle(cfg, of)
	b.semaphore = newSharedSemaphore(cfg.HeavyAtOnce, nuid.Next(), b, now)
	t.bucket, t.heavy = b, b.semaphore
	return t, nil
}

func newThrottle(cfg ThrottleConfig, of func(name string, r Rate) limiter) *Throttle {
	t := &Throttle{heavyMax: cfg.HeavyAtOnce, heavy: newLocalSemaphore(cfg.HeavyAtOnce)}
	counted := func(name string, r Rate) counter { return tallied{of(name, r), t.tally(name)} }
	countedByAddress := func(name string, r Rate) counter {
		wide := Rate{Requests: networkShare * r.Requests, Per: r.Per}
		return tallied{networked{name, r, of(name, r), of(name+"-network", wide)}, t.tally(name)}
	}
	t.accounts, t.addresses = counted("reads", cfg.Reads), countedByAddress("anonymous", cfg.Reads)
	t.attemptsByLogin, t.attemptsByAddress = counted("login", cfg.Attempts), countedByAddress("address", cfg.Attempts)
	t.tally(heavyLimit)
	return t
}

// Run keeps a shared Throttle in contact with the other nodes until ctx ends.
func (t *Throttle) Run(ctx context.Context) error {
	if t.bucket == nil {
		<-ctx.Done()
		return nil
	}
	return t.bucket.run(ctx)
}

// Quota is where a key stands after a request.
type Quota struct {
	Policy           string // the name of the limit: reads, anonymous, login or address
	Limit, Remaining int
	Window           time.Duration
	Reset            time.Time     // when the whole limit is available again
	Wait             time.Duration // until Reset
}

// tighter returns the quota that a caller comes to the end of first: the one
// with fewer requests left or, if none has any left, the one that is available
// again later.
func tighter(a, b Quota) Quota {
	if b.Remaining < a.Remaining || a.Remaining == 0 && b.Remaining == 0 && b.Reset.After(a.Reset) {
		return b
	}
	return a
}

// limit is what a counter counts by.
type limit struct {
	name string
	rate Rate
	max  int // keys
	now  func() time.Time
}

// quota returns where a key stands that has so many requests left.
func (l limit) quota(left int, reset, now time.Time) Quota {
	return Quota{Policy: l.name, Limit: l.rate.Requests, Remaining: left, Window: l.rate.Per, Reset: reset, Wait: reset.Sub(now)}
}

func throttled(q Quota) error {
	return &fault.Error{Kind: fault.RateLimited, RetryAfter: q.Wait, Msg: "Too many requests. Wait as long as Retry-After says."}
}

// Read counts one request of an account.
func (t *Throttle) Read(account contracts.AccountID) (Quota, error) {
	return t.accounts.take(account.String())
}

// Anonymous counts one request of an address whose account is not known.
func (t *Throttle) Anonymous(address string) (Quota, error) { return t.addresses.take(address) }

// Attempt counts one attempt to get a token, for the address and, if it is
// known, for the login. It returns the tighter of the two quotas.
func (t *Throttle) Attempt(address, login string) (Quota, error) {
	quota, err := t.attemptsByAddress.take(address)
	if err != nil || login == "" {
		return quota, err
	}
	byLogin, err := t.attemptsByLogin.take(login)
	if err != nil {
		return byLogin, err
	}
	return tighter(quota, byLogin), nil
}

// windows counts by key in fixed windows. All windows have the same length, so
// they end in the order in which they begin.
type windows struct {
	limit

	mu    sync.Mutex
	byKey map[string]*window
	order []*window // in the order in which they began
}

type window struct {
	key  string
	ends time.Time
	used int
}

func newWindows(l limit) *windows { return &windows{limit: l, byKey: map[string]*window{}} }

func (w *windows) take(key string) (Quota, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for len(w.order) > 0 && !now.Before(w.order[0].ends) {
		w.dropFirst()
	}
	in := w.byKey[key]
	if in == nil {
		if len(w.byKey) >= w.max {
			w.dropFirst()
		}
		in = &window{key: key, ends: now.Add(w.rate.Per)}
		w.byKey[key], w.order = in, append(w.order, in)
	}
	if in.used >= w.rate.Requests {
		quota := w.quota(0, in.ends, now)
		return quota, throttled(quota)
	}
	in.used++
	return w.quota(w.rate.Requests-in.used, in.ends, now), nil
}

func (w *windows) spent(key string) (Quota, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, now := w.byKey[key], w.now()
	if in == nil {
		return Quota{}, false
	}
	return w.quota(w.rate.Requests-in.used, in.ends, now), in.used >= w.rate.Requests && now.Before(in.ends)
}

func (w *windows) dropFirst() {
	delete(w.byKey, w.order[0].key)
	w.order = w.order[1:]
}
