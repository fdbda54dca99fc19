package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// RevocationConfig configures where and how revoked tokens are kept.
type RevocationConfig struct {
	Bucket   string
	Replicas int
	// Stale is how long this node goes on without proof that it has seen every
	// revocation; after that no token is accepted.
	Stale time.Duration
	// Check is how often the proof is renewed.
	Check time.Duration
}

// RevocationDefaults returns the published names and times.
func RevocationDefaults() RevocationConfig {
	return RevocationConfig{Bucket: "preismon_revoked_tokens", Replicas: 1, Stale: 5 * time.Second, Check: time.Second}
}

// Validate reports every fault of the configuration.
func (c RevocationConfig) Validate() error {
	var f contracts.Faults
	f.Check(c.Bucket != "", "bucket: missing")
	f.Check(c.Replicas >= 1, "replicas: less than 1")
	f.Check(c.Check > 0, "check: not positive")
	f.Check(c.Stale >= 2*c.Check, "stale: less than two checks")
	return f.Err()
}

// markerTTL is how long the bucket keeps the marker of an expired key; without
// markers, NATS does not let single keys expire.
const markerTTL = time.Minute

// RevokedTokens keeps revoked token ids in a NATS key-value bucket. Each node
// watches the whole bucket and answers from memory. Once a second it requests
// the last sequence of the bucket from the server and notes when the watch has
// reached it: a watch that has silently ended is detected, not trusted.
type RevokedTokens struct {
	cfg RevocationConfig
	js  jetstream.JetStream
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kv    jetstream.KeyValue
	ids   map[string]time.Time // by key: when its token has certainly expired
	fresh time.Time            // when this node last knew every revocation
	made  time.Time
	ready chan struct{}
}

// NewRevokedTokens returns the store; Run starts it.
func NewRevokedTokens(cfg RevocationConfig, js jetstream.JetStream, log *slog.Logger, now func() time.Time) (*RevokedTokens, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &RevokedTokens{cfg: cfg, js: js, log: log, now: now, ids: map[string]time.Time{}, made: now(), ready: make(chan struct{})}, nil
}

// Ready is closed when every earlier revocation is known.
func (r *RevokedTokens) Ready() <-chan struct{} { return r.ready }

// Stats returns how many revoked ids this node keeps, and the age of its proof
// that it knows all of them; before the first proof, the time since it was
// created.
func (r *RevokedTokens) Stats() (ids int, age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.fresh
	if since.IsZero() {
		since = r.made
	}
	return len(r.ids), r.now().Sub(since)
}

// Run watches the bucket until ctx ends, and starts again whenever the watch
// fails.
func (r *RevokedTokens) Run(ctx context.Context) error {
	return again(ctx, r.cfg.Check/2, r.watch, func(err error) {
		r.log.WarnContext(ctx, "watch of revoked tokens lost", "error", err)
	})
}

func (r *RevokedTokens) open(ctx context.Context) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Stale)
	defer cancel()
	return openBucket(ctx, r.js, jetstream.KeyValueConfig{
		Bucket: r.cfg.Bucket, Description: "ids of access tokens that were revoked before they expired",
		History: 1, Storage: jetstream.FileStorage, Replicas: r.cfg.Replicas, LimitMarkerTTL: markerTTL,
	})
}

// reach returns the last sequence of the bucket, and when that was created.
func (r *RevokedTokens) reach(ctx context.Context, kv jetstream.KeyValue) (last uint64, created time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Stale/2)
	defer cancel()
	s, err := kv.Status(ctx)
	if err != nil {
		return 0, created, err
	}
	status, ok := s.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return 0, created, errors.New("status without a stream")
	}
	return status.StreamInfo().State.LastSeq, status.StreamInfo().Created, nil
}

// watch follows the bucket until the watch fails or no longer keeps up.
func (r *RevokedTokens) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kv, err := r.open(ctx)
	if err != nil {
		return err
	}
	began := r.now()
	seen, created, err := r.reach(ctx, kv) // what has been removed by now need not be seen
	if err != nil {
		return err
	}
	watcher, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer watcher.Stop()

	// A check queries the server in its own goroutine, so updates are still
	// received.
	type answer struct {
		queriedAt time.Time
		seq       uint64
		created   time.Time
		err       error
	}
	answers := make(chan answer, 1)
	ask := time.NewTicker(r.cfg.Check)
	defer ask.Stop()
	var (
		initial  bool // everything from before the watch has arrived
		asking   bool
		waiting  *answer // until the watch has reached its sequence
		lastGood = began
	)
	caughtUp := func(at time.Time) {
		lastGood = at
		r.freshen(kv, at)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watcher.Updates():
			if !ok {
				return errors.New("the server ended the watch")
			}
			if entry == nil {
				initial = true
				caughtUp(began)
			} else {
				r.take(entry)
				seen = max(seen, entry.Revision())
			}
			if initial && waiting != nil && seen >= waiting.seq {
				caughtUp(waiting.queriedAt)
				waiting = nil
			}
		case <-ask.C:
			// A late answer is only as good as the time of its question. A busy
			// machine is no reason to start again, which would cause even more
			// requests.
			if asking {
				continue
			}
			if r.now().Sub(lastGood) > r.cfg.Stale/2 { // start a new watch before tokens are refused
				return errors.New("the watch does not keep up")
			}
			if waiting != nil {
				continue
			}
			asking = true
			queriedAt := r.now()
			go func() {
				seq, created, err := r.reach(ctx, kv)
				answers <- answer{queriedAt, seq, created, err}
			}()
		case a := <-answers:
			asking = false
			switch {
			case a.err != nil: // will be asked again; after too many failures the watch is stale
			case !a.created.Equal(created): // of another bucket this watch has seen nothing
				return errors.New("the bucket was created again")
			case initial && seen >= a.seq:
				caughtUp(a.queriedAt)
			default:
				waiting = &a
			}
		}
	}
}

func (r *RevokedTokens) freshen(kv jetstream.KeyValue, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh.IsZero() {
		close(r.ready)
	}
	r.kv = kv
	if at.After(r.fresh) {
		r.fresh = at
	}
	for key, until := range r.ids {
		if !at.Before(until) {
			delete(r.ids, key)
		}
	}
}

// take records a revocation. Deletions are ignored: an id is dropped when its
// token has expired, and never because its key was deleted.
func (r *RevokedTokens) take(entry jetstream.KeyValueEntry) {
	if entry.Operation() != jetstream.KeyValuePut {
		return
	}
	seconds, err := strconv.ParseInt(string(entry.Value()), 10, 64)
	until := time.Unix(seconds, 0)
	if err != nil {
		until = r.now().Add(maxLifetime) // whatever the value is, the token is revoked
	}
	r.add(entry.Key(), until)
}

func (r *RevokedTokens) add(key string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[key] = until
}

func revocationKey(jti string) string {
	sum := sha256.Sum256([]byte(jti))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Revoked implements Revocations from memory.
func (r *RevokedTokens) Revoked(jti string) (bool, error) {
	key := revocationKey(jti)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.ids[key]; ok {
		return true, nil // a known revocation stays valid, even when the watch is stale
	}
	if r.fresh.IsZero() || r.now().Sub(r.fresh) > r.cfg.Stale {
		return false, &fault.Error{
			Kind: fault.Unavailable, RetryAfter: r.cfg.Stale,
			Msg: "Tokens cannot be checked at the moment. Try again shortly.",
			Err: errors.New("watch of revoked tokens is stale"),
		}
	}
	return false, nil
}

// Revoke implements Revocations. If several calls revoke the same id at once,
// one succeeds.
func (r *RevokedTokens) Revoke(ctx context.Context, jti string, until time.Time) error {
	r.mu.Lock()
	kv := r.kv
	r.mu.Unlock()
	if kv == nil {
		return errors.New("revoke a token: the bucket is not open yet")
	}
	until = until.Add(clockSkew) // a node whose clock is behind accepts the token for longer
	left := until.Sub(r.now())
	if left <= 0 {
		return refused(errors.New("expired"))
	}
	key := revocationKey(jti)
	ttl := max(left.Truncate(time.Second)+time.Second, time.Second)
	_, err := kv.Create(ctx, key, strconv.AppendInt(nil, until.Unix(), 10), jetstream.KeyTTL(ttl))
	if errors.Is(err, jetstream.ErrKeyExists) {
		r.add(key, until)
		return refused(errRevoked)
	}
	if err != nil {
		return fmt.Errorf("revoke a token: %w", err)
	}
	r.add(key, until) // the watch delivers it too, but the next request may come first
	return nil
}
