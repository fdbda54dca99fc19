package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"preismon/contracts/event"

	"github.com/nats-io/nats.go/jetstream"
)

const appliedPoll = 100 * time.Millisecond

// WaitApplied waits until the projector has acknowledged everything that the
// streams hold at the time of the call. It watches the consumer from outside,
// so it works from any process; where no projector ever ran, that is an error.
func WaitApplied(ctx context.Context, js jetstream.JetStream) error {
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		end, err := End(ctx, js, stream)
		if err != nil {
			return err
		}
		consumer, err := js.Consumer(ctx, stream, ConsumerConfig{}.withDefaults().Name)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("no projector has read the stream %s yet", stream)
		}
		if err != nil {
			return err
		}
		for {
			info, err := consumer.Info(ctx)
			if err != nil {
				return err
			}
			if info.AckFloor.Stream >= end || info.NumPending == 0 && info.NumAckPending == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(appliedPoll):
			}
		}
	}
	return nil
}
