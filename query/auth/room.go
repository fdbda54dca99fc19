package auth

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// noRoom is what NATS answers when its streams would reserve more than it has:
// JSStorageResourcesExceededErr.
const noRoom = 10047

// OpenBucket returns a key-value bucket after ensure, which creates it or
// brings it up to date. NATS refuses any update, even one that changes nothing,
// while its streams together reserve more than it has room for; then the bucket
// is used as it is. Other errors are those of ensure and of NATS.
func OpenBucket(ctx context.Context, js jetstream.JetStream, bucket string, ensure func(context.Context) error) (jetstream.KeyValue, error) {
	refused := ensure(ctx)
	if api, ok := errors.AsType[*jetstream.APIError](refused); refused != nil && (!ok || api.ErrorCode != noRoom) {
		return nil, refused
	}
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	return kv, nil
}

// again watches until ctx ends: after each watch that was lost it waits for pause
// and starts another one.
func again(ctx context.Context, pause time.Duration, watch func(context.Context) error, lost func(error)) error {
	for {
		err := watch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		lost(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// openBucket is OpenBucket for a configuration.
func openBucket(ctx context.Context, js jetstream.JetStream, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return OpenBucket(ctx, js, cfg.Bucket, func(ctx context.Context) error {
		_, err := js.CreateOrUpdateKeyValue(ctx, cfg)
		return err
	})
}
