package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
)

// SharedConfig configures how nodes count requests together.
type SharedConfig struct {
	Bucket   string
	Replicas int
	// MaxBytes bounds the bucket. While it is full, each node counts alone.
	MaxBytes int64
	// LeaseFor is how long a node may hold requests that it took from the
	// common quota but has not used.
	LeaseFor time.Duration
	// Wait is how long a request waits for the bucket. A node that cannot reach
	// it counts alone for Retry, then tries again.
	Wait, Retry time.Duration
}

// SharedDefaults returns the published names and times.
func SharedDefaults() SharedConfig {
	return SharedConfig{Bucket: "preismon_rate_limits", Replicas: 1, MaxBytes: 64 << 20, LeaseFor: time.Second, Wait: 500 * time.Millisecond, Retry: time.Second}
}

// Validate reports every fault of the configuration.
func (c SharedConfig) Validate() error {
	var f contracts.Faults
	f.Check(c.Bucket != "", "bucket: missing")
	f.Check(c.Replicas >= 1, "replicas: less than 1")
	f.Check(c.MaxBytes > 0, "max bytes: not positive")
	f.Check(c.LeaseFor > 0, "lease for: not positive")
	f.Check(c.Wait > 0, "wait: not positive")
	f.Check(c.Retry > 0, "retry: not positive")
	return f.Err()
}

const (
	maxLease   = 32 // requests that a node takes at once
	leaseShare = 16 // a lease takes at most 1/leaseShare of what is left, or one request
	leaseTries = 3  // for one request, when its leases end before it is counted
)

// sharedWindows counts by key in fixed windows, across all nodes. What each key
// has used is kept in a NATS key-value bucket and changes there only by compare
// and set. A node leases several requests at a time, so that few requests wait
// for the bucket, and gives back what it does not use. Each node watches the
// bucket: the Remaining that it reports is what no node has taken, which every
// node can still serve, plus what it holds itself as long as no other node has
// taken any of the window. Remaining then decreases request by request
// (RATE-01).
type sharedWindows struct {
	limit
	bucket *bucket
	alone  *windows // counts while the bucket is out of reach

	mu    sync.Mutex
	byKey map[string]*share   // by key of the bucket
	order []*share            // in the order in which they became known
	lent  map[*share]struct{} // the shares that hold a lease
}

// share is what a node knows about one key, and what it holds of the key's
// quota.
type share struct {
	turn sync.Mutex // held by the request that queries the bucket
	key  string

	record          // as last seen
	revision uint64 // of record; 0: not seen
	mine     int    // the part of taken that this node took
	held     int    // the part of mine that is not used yet
	leased   time.Time
	size     int // of the last lease
}

// record is the value of a key: when the window ends, and how much of it was
// taken.
type record struct {
	ends  time.Time
	taken int
}

func (r record) text() []byte { return fmt.Appendf(nil, "%d %d", r.ends.UnixMilli(), r.taken) }

func parseRecord(text []byte) (record, error) {
	var ms int64
	var r record
	if _, err := fmt.Sscanf(string(text), "%d %d", &ms, &r.taken); err != nil {
		return record{}, fmt.Errorf("rate limit %q: %w", text, err)
	}
	r.ends = time.UnixMilli(ms)
	return r, nil
}

func (w *sharedWindows) keyOf(key string) string {
	sum := sha256.Sum256([]byte(key)) // logins and addresses must not be readable
	return w.name + "." + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// stands returns where the key stands; w.mu must be held.
func (w *sharedWindows) stands(s *share, now time.Time) Quota {
	left := w.rate.Requests - s.taken
	if s.taken == s.mine { // at most a fifteenth of left is held, so a client that moves to another node hears of it in time
		left += s.held
	}
	return w.quota(max(0, left), s.ends, now)
}

// decide answers from what the node holds and knows; done is false when the
// bucket must be queried.
func (w *sharedWindows) decide(s *share) (q Quota, err error, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	switch {
	case s.revision == 0 || !now.Before(s.ends):
		return Quota{}, nil, false
	case s.held > 0:
		if s.held--; s.held == 0 {
			delete(w.lent, s)
		}
		return w.stands(s, now), nil, true
	case s.taken >= w.rate.Requests:
		q = w.stands(s, now)
		return q, throttled(q), true
	}
	return Quota{}, nil, false
}

// spent answers from what this node has seen. While the bucket is out of reach,
// it also knows what it counted alone.
func (w *sharedWindows) spent(key string) (Quota, bool) {
	w.mu.Lock()
	s, now := w.byKey[w.keyOf(key)], w.now()
	if s != nil && s.revision != 0 && now.Before(s.ends) && s.held == 0 && s.taken >= w.rate.Requests {
		defer w.mu.Unlock()
		return w.stands(s, now), true
	}
	w.mu.Unlock()
	if w.bucket.reached() {
		return Quota{}, false
	}
	return w.alone.spent(key)
}

func (w *sharedWindows) take(key string) (Quota, error) {
	s := w.share(w.keyOf(key))
	if q, err, done := w.decide(s); done {
		return q, err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if q, err, done := w.decide(s); done { // the request before this one took enough
		return q, err
	}
	for range leaseTries { // the window may end before the leased requests arrive here
		if err := w.bucket.use(func(ctx context.Context, kv jetstream.KeyValue) error { return w.lease(ctx, kv, s) }); err != nil {
			break
		}
		if q, err, done := w.decide(s); done {
			return q, err
		}
	}
	return w.alone.take(key)
}

func (w *sharedWindows) share(key string) *share {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byKey[key]
	if s != nil {
		return s
	}
	now := w.now()
	for len(w.order) > 0 {
		first := w.order[0]
		if len(w.byKey) < w.max && (first.revision == 0 || now.Before(first.ends)) {
			break
		}
		w.order = w.order[1:]
		delete(w.byKey, first.key)
		delete(w.lent, first)
	}
	s = &share{key: key}
	w.byKey[key], w.order = s, append(w.order, s)
	return s
}

// lease takes requests from the common quota. If there are none left, it takes
// none and records that.
func (w *sharedWindows) lease(ctx context.Context, kv jetstream.KeyValue, s *share) error {
	w.mu.Lock()
	seen, revision := s.record, s.revision
	size := 1
	if s.held == 0 && w.now().Sub(s.leased) < w.bucket.cfg.LeaseFor { // the last lease was used up
		size = min(2*s.size, maxLease)
	}
	w.mu.Unlock()
	return w.change(ctx, kv, s, seen, revision, func(r record) (record, int) {
		now := w.now()
		if !now.Before(r.ends) {
			r = record{ends: now.Add(w.rate.Per).Truncate(time.Millisecond)}
		}
		left := max(0, w.rate.Requests-r.taken)
		n := min(left, max(1, min(size, left/leaseShare)))
		if !w.bucket.watched() {
			n = min(left, 1) // what others take is not seen
		}
		r.taken += n
		return r, n
	})
}

// change applies a change to the key by compare and set; n requests then belong
// to this node.
func (w *sharedWindows) change(ctx context.Context, kv jetstream.KeyValue, s *share, seen record, revision uint64, apply func(record) (record, int)) error {
	for {
		next, n := apply(seen)
		var err error
		written := revision
		if next != seen || revision == 0 { // otherwise there is nothing to write
			written, err = write(ctx, kv, s.key, next.text(), revision)
		}
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			if written < s.revision && !next.ends.Equal(s.ends) { // the watch was faster: a newer window has begun
				return nil
			}
			if !next.ends.Equal(s.ends) { // leases from an older window are dropped
				s.mine, s.held = 0, 0
			}
			if written >= s.revision {
				s.record, s.revision = next, written
			}
			if n > 0 {
				s.mine, s.held, s.size, s.leased = s.mine+n, s.held+n, n, w.now()
				w.lent[s] = struct{}{}
			}
			return nil
		}
		if !conflict(err) {
			return err
		}
		if seen, revision, err = read(ctx, kv, s.key, parseRecord); err != nil {
			return err
		}
	}
}

// forgetRevisions makes the next change of each key read it first: its bucket
// may be another one than before.
func (w *sharedWindows) forgetRevisions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.order {
		s.revision = 0
	}
}

// see applies an update from the watch.
func (w *sharedWindows) see(key string, r record, revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byKey[key]
	if s == nil || revision <= s.revision {
		return
	}
	if !r.ends.Equal(s.ends) { // a new window: leases from the old one are dropped
		s.mine, s.held = 0, 0
		delete(w.lent, s)
	}
	s.record, s.revision = r, revision
}

// giveBack gives back requests that were leased no later than a given time and
// are not used.
func (w *sharedWindows) giveBack(ctx context.Context, kv jetstream.KeyValue, before time.Time) error {
	w.mu.Lock()
	var idle []*share
	for s := range w.lent {
		if !s.leased.After(before) {
			idle = append(idle, s)
		}
	}
	w.mu.Unlock()
	for _, s := range idle {
		s.turn.Lock()
		w.mu.Lock()
		n, seen, revision, ends := s.held, s.record, s.revision, s.ends
		s.mine, s.held, s.size = s.mine-n, 0, 0
		delete(w.lent, s)
		w.mu.Unlock()
		var err error
		if n > 0 && w.now().Before(ends) {
			err = w.change(ctx, kv, s, seen, revision, func(r record) (record, int) {
				if r.ends.Equal(ends) {
					r.taken -= min(n, r.taken)
				}
				return r, 0
			})
		}
		s.turn.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
