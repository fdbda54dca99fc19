package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"
)

// retentionFlags say for how long the streams keep what the tables have, and the
// tables what was captured.
type retentionFlags struct {
	Observations time.Duration `name:"keep-observations" help:"How long the stream OBSERVATIONS keeps a message, from 24h on; the tables keep its rows. 0: as it is, for ever unless somebody set it. What the stream has dropped is in no rebuild: have backups." default:"0" placeholder:"AGE"`
	DeadLetters  time.Duration `name:"keep-dead-letters" help:"How long a dead letter is kept, from 24h on. 0: as it is, 90 days unless somebody set it." default:"0" placeholder:"AGE"`
	Rows         time.Duration `name:"keep-rows" help:"How long the tables keep rows after their capture, from 744h (31 days) on, and up to a quarter longer: those of whole quarters are removed. What is removed is in no answer, audit or rebuild, and what comes too late is not written. 0: for ever; what was removed does not come back. Tables of earlier versions need \"preismon rebuild\" first." default:"0" placeholder:"AGE"`
}

// minKeptRows is more than what reads look back by themselves: a week.
const minKeptRows = 31 * 24 * time.Hour

func (f retentionFlags) faults() error {
	err := f.retention().Validate()
	if f.Rows != 0 && f.Rows < minKeptRows {
		err = errors.Join(err, fmt.Errorf("keep-rows: %s, 0 or at least %s", f.Rows, minKeptRows))
	}
	return err
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

// expireEvery is how often it is looked whether rows are older than they are kept.
const expireEvery = time.Minute

// expire has the projector remove rows by age. What is too old is too old by both
// clocks, this process's and that of ClickHouse: one that is ahead removes nothing.
func (p *projection) expire(ctx context.Context, proj *projector.Projector) {
	if p.keepRows == 0 {
		return
	}
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		_, now, err := projector.Server(ctx, p.conn)
		if own := time.Now(); own.Before(now) {
			now = own
		}
		if err == nil {
			err = proj.Expire(ctx, now.Add(-p.keepRows))
		}
		if err != nil && ctx.Err() == nil {
			p.log.Error("old rows were not removed", "keep_rows", p.keepRows, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
