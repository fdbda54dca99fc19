package oauth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/fault"
)

// store is the key-value bucket of all nodes. Keys expire one by one. Its
// stream answers reads from the leader alone: a follower may be late, and a
// late read would take a fresh token for an old one. What may happen once is
// decided by the revision of a write in any case.
type store struct {
	cfg Config
	js  jetstream.JetStream

	mu   sync.Mutex
	kv   jetstream.KeyValue
	away time.Time // do not try to open before
}

func newStore(cfg Config, js jetstream.JetStream) *store { return &store{cfg: cfg, js: js} }

// Outcomes of writes and reads that are no failures.
var (
	errChanged = errors.New("oauth store: the key was written by another")
	errNoKey   = errors.New("oauth store: no such key")
)

const (
	maxValueBytes = 32 << 10
	maxBytes      = 1 << 30
	openWait      = time.Second // after a bucket that could not be opened
)

// unavailable is the fault of a bucket that cannot be reached: whatever was
// asked for is not granted.
func unavailable(err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, RetryAfter: retryShortly, Err: err,
		Msg: "The server cannot decide this at the moment. Try again shortly.",
	}
}

// open gives the bucket and makes it if it is not there.
func (s *store) open(ctx context.Context) (jetstream.KeyValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.js.Conn().IsConnected(): // what is written now would be sent who knows when
		return nil, errors.New("oauth store: not connected")
	case s.kv != nil:
		return s.kv, nil
	case time.Now().Before(s.away):
		return nil, errors.New("oauth store: the bucket could not be opened")
	}
	stream := "KV_" + s.cfg.Bucket
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: stream, Subjects: []string{s.subject(">")}, Description: "OAuth consents, with their codes and refresh tokens",
		MaxMsgsPerSubject: 1, MaxBytes: maxBytes, MaxMsgSize: maxValueBytes, MaxAge: s.cfg.RefreshLifetime + time.Hour,
		Storage: jetstream.FileStorage, Replicas: s.cfg.Replicas, Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, AllowDirect: false, AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute,
	})
	if err == nil {
		s.kv, err = s.js.KeyValue(ctx, s.cfg.Bucket)
	}
	if err != nil {
		s.away = time.Now().Add(openWait)
		return nil, fmt.Errorf("open the oauth store: %w", err)
	}
	return s.kv, nil
}

func (s *store) subject(key string) string { return "$KV." + s.cfg.Bucket + "." + key }

// use runs f on the bucket. Anything but an outcome is Unavailable, and the
// bucket is opened again.
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
	case ctx.Err() != nil: // the caller has gone; nothing is known of the bucket
		return unavailable(ctx.Err())
	}
	s.mu.Lock()
	s.kv = nil
	s.mu.Unlock()
	return unavailable(fmt.Errorf("oauth store: %w", err))
}

// whole rounds up to seconds, which is what keys expire in.
func whole(ttl time.Duration) time.Duration {
	return max((ttl + time.Second - 1).Truncate(time.Second), time.Second)
}

// create writes a new key; errChanged when it is there.
func (s *store) create(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.use(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Create(ctx, key, value, jetstream.KeyTTL(whole(ttl)))
		if errors.Is(err, jetstream.ErrKeyExists) {
			return errChanged
		}
		return err
	})
}

// get reads a key and its revision; errNoKey when it is not there.
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

// update writes a key if it still has the revision; else errChanged. It is
// not the bucket's own Update, which would let the key live for ever.
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
