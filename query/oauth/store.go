package oauth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/fault"
	"preismon/query/auth"
)

// store is the key-value bucket shared by all nodes. Keys expire individually.
// Its stream answers reads only from the leader: a follower may lag behind, and
// a stale read would make a fresh token look like an old one. In any case, what
// may happen only once is decided by the revision of a write.
type store struct {
	cfg Config
	js  jetstream.JetStream

	mu   sync.Mutex
	kv   jetstream.KeyValue
	away time.Time // do not try to open before
}

func newStore(cfg Config, js jetstream.JetStream) *store { return &store{cfg: cfg, js: js} }

// Outcomes of writes and reads that are not failures.
var (
	errChanged = errors.New("oauth store: the key was written by another")
	errNoKey   = errors.New("oauth store: no such key")
)

const (
	maxValueBytes = 32 << 10
	maxBytes      = 64 << 20    // NATS sets all of it aside; a record has at most a few KiB
	openWait      = time.Second // after a bucket that could not be opened
)

// unavailable returns the fault for a bucket that cannot be reached: the
// request is not granted.
func unavailable(err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, RetryAfter: retryShortly, Err: err,
		Msg: "The server cannot decide this at the moment. Try again shortly.",
	}
}

// open returns the bucket, creating it if it does not exist.
func (s *store) open(ctx context.Context) (jetstream.KeyValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.js.Conn().IsConnected(): // what is written now would be sent at some unknown later time
		return nil, errors.New("oauth store: not connected")
	case s.kv != nil:
		return s.kv, nil
	case time.Now().Before(s.away):
		return nil, errors.New("oauth store: the bucket could not be opened")
	}
	kv, err := auth.OpenBucket(ctx, s.js, s.cfg.Bucket, s.ensure)
	if err != nil {
		s.away = time.Now().Add(openWait)
		return nil, fmt.Errorf("open the oauth store: %w", err)
	}
	s.kv = kv
	return kv, nil
}

// ensure creates the bucket, or brings it up to date.
func (s *store) ensure(ctx context.Context) error {
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "KV_" + s.cfg.Bucket, Subjects: []string{s.subject(">")}, Description: "OAuth consents, with their codes and refresh tokens",
		MaxMsgsPerSubject: 1, MaxBytes: maxBytes, MaxMsgSize: maxValueBytes, MaxAge: s.cfg.RefreshLifetime + time.Hour,
		Storage: jetstream.FileStorage, Replicas: s.cfg.Replicas, Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, AllowDirect: false, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute,
	})
	return err
}

func (s *store) subject(key string) string { return "$KV." + s.cfg.Bucket + "." + key }

// use runs f on the bucket. Any error that is not an outcome becomes
// Unavailable, and the bucket is opened again next time.
func (s *store) use(ctx context.Context, f func(context.Context, jetstream.KeyValue) error) error {
	within, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	kv, err := s.open(within)
	if err != nil {
		return unavailable(err)
	}
	err = f(within, kv)
	switch {
	case err == nil || errors.Is(err, errChanged) || errors.Is(err, errNoKey):
		return err
	case ctx.Err() != nil: // the caller has gone; this says nothing about the bucket
		return unavailable(ctx.Err())
	}
	s.mu.Lock()
	s.kv = nil
	s.mu.Unlock()
	return unavailable(fmt.Errorf("oauth store: %w", err))
}

// whole rounds up to whole seconds, the unit in which keys expire; at least
// one.
func whole(ttl time.Duration) time.Duration {
	return max((ttl + time.Second - 1).Truncate(time.Second), time.Second)
}

// create writes a new key; errChanged if it exists.
func (s *store) create(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.use(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Create(ctx, key, value, jetstream.KeyTTL(whole(ttl)))
		if errors.Is(err, jetstream.ErrKeyExists) {
			return errChanged
		}
		return err
	})
}

// get reads a key and its revision; errNoKey if it does not exist.
func (s *store) get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = s.use(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return errNoKey
		}
		if err != nil {
			return err
		}
		value, revision = e.Value(), e.Revision()
		return nil
	})
	return value, revision, err
}

// update writes a key if it still has the revision; otherwise errChanged. It
// does not use the bucket's own Update, which would let the key live forever.
func (s *store) update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) error {
	return s.use(ctx, func(ctx context.Context, _ jetstream.KeyValue) error {
		_, err := s.js.Publish(ctx, s.subject(key), value,
			jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithMsgTTL(whole(ttl)))
		var api *jetstream.APIError
		if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
			return errChanged
		}
		return err
	})
}
