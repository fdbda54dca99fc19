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

// retentionFlags configure how long the streams keep what is in the tables, and
// how long the tables keep what was captured.
type retentionFlags struct {
	Observations time.Duration `name:"keep-observations" help:"How long the stream OBSERVATIONS keeps a message, at least 24h; the tables keep its rows. 0: not changed, which is for ever unless it was set before. What the stream has dropped cannot be rebuilt: keep backups." default:"0" placeholder:"AGE"`
	Size         int64         `name:"keep-observations-size" help:"MiB that the stream OBSERVATIONS may fill on each NATS server: beyond it the oldest messages are dropped, but none of the last 24 hours and none that is not in the tables yet. 0: no limit. With a limit, --keep-observations 0 means for ever." default:"0" placeholder:"MIB"`
	DeadLetters  time.Duration `name:"keep-dead-letters" help:"How long a dead letter is kept, at least 24h. 0: not changed, which is 90 days unless it was set before." default:"0" placeholder:"AGE"`
	Rows         time.Duration `name:"keep-rows" help:"How long the tables keep rows after their capture, at least 744h (31 days); whole quarters are removed, so up to a quarter longer. Removed rows are in no answer, audit or rebuild, and captures that are already older when they arrive are not written. 0: for ever; what was removed does not come back. Tables of earlier versions need \"preismon rebuild\" first." default:"0" placeholder:"AGE"`
	RowsSize     int64         `name:"keep-rows-size" help:"MiB of disk that observations and observations_by_mandate together may fill on each ClickHouse server: beyond it the oldest quarters are removed, as by --keep-rows, but none of the last 31 days. 0: no limit." default:"0" placeholder:"MIB"`
}

// minKeptRows is more than the default windows of reads look back: a week.
const minKeptRows = 31 * 24 * time.Hour

// maxMiB is a pebibyte.
const maxMiB = 1 << 30

func sizeFault(name string, mib int64) error {
	if mib < 0 || mib > maxMiB {
		return fmt.Errorf("%s: %d, 0 to %d MiB", name, mib, maxMiB)
	}
	return nil
}

func (f retentionFlags) faults() error {
	err := f.retention().Validate()
	if f.Rows != 0 && f.Rows < minKeptRows {
		err = errors.Join(err, fmt.Errorf("keep-rows: %s, 0 or at least %s", f.Rows, minKeptRows))
	}
	return errors.Join(err, sizeFault("keep-observations-size", f.Size), sizeFault("keep-rows-size", f.RowsSize))
}

// rows returns which rows the tables keep.
func (f retentionFlags) rows() keptRows {
	return keptRows{age: f.Rows, bytes: uint64(f.RowsSize) << 20}
}

// keptRows are which rows the tables keep: by age, by size, or by both; 0: all.
type keptRows struct {
	age   time.Duration // at least 31 days
	bytes uint64        // of both large tables
}

func (f retentionFlags) retention() ingest.Retention {
	return ingest.Retention{Observations: f.Observations, DeadLetters: f.DeadLetters, ObservationsBytes: uint64(f.Size) << 20}
}

// retainEvery is how often a leader checks the retention of the streams: until
// it is set, which waits until everything that it removes is applied, and after
// that if their size is bounded.
const retainEvery = time.Minute

// retain sets the retention of the streams, and keeps their size within the bound.
func (p *projection) retain(ctx context.Context) {
	every(ctx, retainEvery, func() (more bool) {
		err := p.retention.Apply(ctx, p.bus.js, p.share.Partitions, time.Now())
		switch {
		case ctx.Err() != nil || err == nil && p.retention.ObservationsBytes == 0:
			return false
		case err == nil:
		case errors.Is(err, ingest.ErrUnapplied):
			p.log.Info("retention waits", "stream", event.StreamObservations, "reason", err)
		default:
			p.log.Error("retention of the streams was not set", "error", err)
		}
		return true
	})
}

// every calls do at once and then periodically, until it returns false or ctx ends.
func every(ctx context.Context, d time.Duration, do func() (more bool)) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for do() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// renewEvery is how often a leader looks for dead letters to renew: much more
// often than the least age at which they expire needs.
const renewEvery = time.Hour

// renewLetters keeps the dead letters of records that are still in CATALOG.
func (p *projection) renewLetters(ctx context.Context) {
	if p.share.Partition > 0 { // the first writes the dead letters of CATALOG
		return
	}
	every(ctx, renewEvery, func() (more bool) {
		switch n, err := ingest.NewDeadLetters(p.bus.js).Renew(ctx, time.Now()); {
		case ctx.Err() != nil:
			return false
		case err != nil:
			p.log.Error("dead letters of records that are in the stream were not renewed", "error", err)
		case n > 0:
			p.log.Info("dead letters of records that are in the stream renewed", "letters", n)
		}
		return true
	})
}

// expireEvery is how often a leader checks whether rows are older than they are kept.
const expireEvery = time.Minute

// expire has the projector remove rows by age and by size. A row is removed by
// age only if it is too old by both clocks, this process's and that of
// ClickHouse: one that is ahead removes nothing.
func (p *projection) expire(ctx context.Context, proj *projector.Projector) {
	if p.keepRows == (keptRows{}) {
		return
	}
	every(ctx, expireEvery, func() (more bool) {
		before, err := p.keepRows.before(ctx, p.conn)
		if err == nil && !before.IsZero() {
			err = proj.Expire(ctx, before)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Error("old rows were not removed", "keep_rows", p.keepRows.age, "keep_rows_size", p.keepRows.bytes, "error", err)
		}
		return true
	})
}

// before returns the time before whose quarter no rows are kept; zero: all are.
func (k keptRows) before(ctx context.Context, conn projector.Conn) (before time.Time, err error) {
	_, now, err := projector.Server(ctx, conn)
	if err != nil {
		return before, err
	}
	if own := time.Now(); own.Before(now) {
		now = own
	}
	var fits time.Time
	if k.bytes > 0 {
		fits, err = projector.Fitting(ctx, conn, k.bytes)
	}
	return k.floor(now, fits), err
}

// floor is before, given the time from which on rows fit; zero: all of them fit.
func (k keptRows) floor(now, fits time.Time) (before time.Time) {
	if k.age > 0 {
		before = now.Add(-k.age)
	}
	if most := now.Add(-minKeptRows); fits.After(most) {
		fits = most
	}
	if fits.After(before) {
		before = fits
	}
	return before
}
