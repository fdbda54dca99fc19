package auth

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// bucket is the key-value bucket of all counters, and whether it can be used.
type bucket struct {
	cfg SharedConfig
	ttl time.Duration
	js  jetstream.JetStream
	log *slog.Logger

	mu    sync.Mutex
	kv    jetstream.KeyValue
	live  bool      // the watch delivers what other nodes write
	away  time.Time // do not use the bucket before
	count []*sharedWindows

	semaphore *sharedSemaphore
}

func (b *bucket) watched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live
}

// reached reports whether the bucket is open and its last use, if any,
// succeeded.
func (b *bucket) reached() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kv != nil && !time.Now().Before(b.away)
}

func (b *bucket) set(kv jetstream.KeyValue, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kv, b.live = kv, live
}

// conflict reports whether a key was not written because it is not at the
// expected revision. A replicated bucket says so of an update with an error of
// its own while the write before it is on its way.
func conflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// write writes a key that is at a revision; 0: it does not exist.
func write(ctx context.Context, kv jetstream.KeyValue, key string, value []byte, revision uint64) (written uint64, err error) {
	if revision == 0 {
		return kv.Create(ctx, key, value)
	}
	return kv.Update(ctx, key, value, revision)
}

// read returns what parse makes of a key, and its revision; zeros: it does not
// exist, or no longer.
func read[T any](ctx context.Context, kv jetstream.KeyValue, key string, parse func([]byte) (T, error)) (value T, revision uint64, err error) {
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return value, 0, nil
	}
	if err != nil {
		return value, 0, err
	}
	value, err = parse(entry.Value())
	return value, entry.Revision(), err
}

var errAway = errors.New("rate limits: the bucket is out of reach")

// use runs f on the bucket within Wait. After a failure it returns errAway at
// once for as long as Retry.
func (b *bucket) use(f func(context.Context, jetstream.KeyValue) error) error {
	b.mu.Lock()
	kv, away := b.kv, time.Now().Before(b.away)
	b.mu.Unlock()
	if kv == nil || away {
		return errAway
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.cfg.Wait)
	defer cancel()
	err := f(ctx, kv)
	if err != nil {
		b.mu.Lock()
		b.away = time.Now().Add(b.cfg.Retry)
		b.mu.Unlock()
		b.log.Warn("rate limits are counted by this node alone", "error", err)
	}
	return err
}

// run watches the bucket and gives back idle leases until ctx ends.
func (b *bucket) run(ctx context.Context) error {
	return again(ctx, b.cfg.Retry, b.watch, func(err error) {
		b.set(nil, false)
		b.log.WarnContext(ctx, "watch of rate limits lost", "error", err)
	})
}

func (b *bucket) watch(ctx context.Context) error {
	open, cancel := context.WithTimeout(ctx, 10*b.cfg.Wait)
	defer cancel()
	kv, err := openBucket(open, b.js, jetstream.KeyValueConfig{
		Bucket: b.cfg.Bucket, Description: "requests counted by all query nodes together",
		History: 1, Storage: jetstream.FileStorage, Replicas: b.cfg.Replicas, TTL: b.ttl, MaxBytes: b.cfg.MaxBytes,
	})
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watcher, err := kv.WatchAll(watching, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for _, w := range b.count {
		w.forgetRevisions()
	}
	b.set(kv, true)
	tick := time.NewTicker(b.cfg.LeaseFor / 2)
	defer tick.Stop()
	idle := make(chan error, 1)
	busy := false
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.Wait)
			defer cancel()
			b.giveBack(end, kv, time.Now().Add(time.Hour)) // all of it
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return errors.New("the server ended the watch")
			}
			if entry != nil && entry.Operation() == jetstream.KeyValuePut {
				b.see(entry)
			}
		case <-tick.C: // in a separate goroutine: the watch must not wait
			if busy {
				continue
			}
			busy = true
			go func() {
				ctx, cancel := context.WithTimeout(watching, b.cfg.Wait)
				defer cancel()
				idle <- errors.Join(b.giveBack(ctx, kv, time.Time{}), b.semaphore.renew(ctx, kv), b.missing(ctx, kv))
			}()
		case err := <-idle:
			if busy = false; err != nil {
				return err
			}
		}
	}
}

// missing fails when the bucket is gone, so that it is created again. Call
// it only after the bucket could not be used.
func (b *bucket) missing(ctx context.Context, kv jetstream.KeyValue) error {
	if b.reached() {
		return nil
	}
	_, err := kv.Status(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	return nil // a server that is out of reach may still have it
}

// giveBack gives back leases taken no later than before; zero: those older than
// LeaseFor.
func (b *bucket) giveBack(ctx context.Context, kv jetstream.KeyValue, before time.Time) error {
	for _, w := range b.count {
		limit := before
		if limit.IsZero() {
			limit = w.now().Add(-b.cfg.LeaseFor)
		}
		if err := w.giveBack(ctx, kv, limit); err != nil {
			return err
		}
	}
	return nil
}

func (b *bucket) see(entry jetstream.KeyValueEntry) {
	if strings.HasPrefix(entry.Key(), slotsPrefix) {
		b.semaphore.observe(entry)
		return
	}
	r, err := parseRecord(entry.Value())
	if err != nil {
		return
	}
	for _, w := range b.count {
		w.see(entry.Key(), r, entry.Revision())
	}
}
