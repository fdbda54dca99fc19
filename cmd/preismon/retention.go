package main

import (
	"context"
	"errors"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"
)

// retentionFlags say for how long the streams keep what the tables have.
type retentionFlags struct {
	Observations time.Duration `name:"keep-observations" help:"How long the stream OBSERVATIONS keeps a message, from 24h on; the tables keep its rows. 0: as it is, for ever unless somebody set it. What the stream has dropped is in no rebuild: have backups." default:"0" placeholder:"AGE"`
	DeadLetters  time.Duration `name:"keep-dead-letters" help:"How long a dead letter is kept, from 24h on. 0: as it is, 90 days unless somebody set it." default:"0" placeholder:"AGE"`
}

func (f retentionFlags) retention() ingest.Retention {
	return ingest.Retention{Observations: f.Observations, DeadLetters: f.DeadLetters}
}

// retainEvery is how often a leader tries to set the retention, which waits
// until everything is applied that it removes.
const retainEvery = time.Minute

// retain sets the retention of the streams, once.
func (p *projection) retain(ctx context.Context) {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		err := p.retention.Apply(ctx, p.bus.js, p.share.Partitions, time.Now())
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, ingest.ErrUnapplied):
			p.log.Info("retention waits", "stream", event.StreamObservations, "reason", err)
		default:
			p.log.Error("retention of the streams was not set", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
