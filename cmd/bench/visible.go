package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest/seqlock"
)

const (
	visibleRate = 5_000
	// unheard is how long to wait for a message about the checkpoint before
	// looking: as long as a node that receives none.
	unheard = 50 * time.Millisecond
)

// measureVisible publishes single captures at a steady rate alongside a running
// projector on the full tables. An event is visible when the checkpoint has
// passed it. That is learned the way a query node learns it: by a message, or
// from the table while no messages arrive. Afterwards the last event is read
// through the API.
func (r *run) measureVisible(ctx context.Context) { r.withFlow(ctx, r.visible) }

func (r *run) visible(ctx context.Context, f *flow) {
	stream, err := f.js.Stream(ctx, event.StreamObservations)
	if r.failed(err) {
		return
	}
	began := uint32(stream.CachedInfo().Created.Unix())
	reader, err := seqlock.NewReader(seqlock.Config{Partitions: 1}, f.conn, f.js, r.Logger)
	if r.failed(err) {
		return
	}
	hearing, cancel := context.WithCancel(ctx)
	defer cancel()
	go reader.Run(hearing) //nolint:errcheck // without it the table is read
	statement := fmt.Sprintf("SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS' AND epoch = %d", began)
	reached := func() (uint64, <-chan struct{}) {
		moved := reader.Moved()
		if w := reader.Written(ctx); w != nil && w.Partitions[0][event.StreamObservations].Epoch == began {
			return w.Partitions[0][event.StreamObservations].Seq, moved
		}
		if moved != nil {
			return 0, moved // a checkpoint is being written
		}
		return uint64(r.number(ctx, statement)), nil
	}

	const warm = 2 * time.Second // not counted: the first events start connections
	total := int((warm + r.size.visible).Seconds() * visibleRate)
	published := make([]time.Time, 0, total)
	seen := make([]time.Time, total)
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx, reached, f.first, seen) })

	var last *event.Event
	took, err := f.publish(ctx, r.data.producer(r.Seed+2, time.Now().UTC()), total, func(e *event.Event) {
		published, last = append(published, time.Now()), e
	})
	if s := f.publisher.Stats(); err == nil && s.Retries > 0 {
		err = errors.New("events were published again: their order is not known")
	}
	r.failed(err)
	if watching.Wait(); r.failed(nil) {
		return
	}
	var waits []float64
	for i := int(warm.Seconds() * visibleRate); i < total; i++ {
		waits = append(waits, seen[i].Sub(published[i]).Seconds())
	}
	if s := f.proj.Stats(); s.ScopeVersions > 0 {
		r.failed(fmt.Errorf("the projector changed %d scopes: the data set contradicts itself", s.ScopeVersions))
	}
	r.shown(ctx, last)
	r.table("Publish to visible at 5,000 events a second", fmt.Sprintf("%s events of one capture at %.0f a second beside the full tables; p50 %s, p90 %s, p99 %s, greatest %s",
		grouped(int64(len(waits))), float64(total)/took.Seconds(),
		milliseconds(quantile(waits, 0.5)), milliseconds(quantile(waits, 0.9)), milliseconds(quantile(waits, 0.99)), milliseconds(quantile(waits, 1))))
	r.put("publish_to_visible_p99_seconds", "publish to visible at 5,000 events/s, p99", "s", spreadOf(waits, 0.99), 0.25, true, "")
	r.put("publish_to_visible_p50_seconds", "publish to visible at 5,000 events/s, p50", "s", exactly(quantile(waits, 0.5)), 0, true, "")
}

// watch records when the checkpoint passes each sequence after first.
func (r *run) watch(ctx context.Context, reached func() (uint64, <-chan struct{}), first uint64, seen []time.Time) {
	deadline := time.Now().Add(r.size.visible + 2*time.Minute)
	for n := 0; ; {
		at, moved := reached()
		now := time.Now()
		for ; n < len(seen) && first+uint64(n)+1 <= at; n++ {
			seen[n] = now
		}
		if now.After(deadline) {
			r.failed(fmt.Errorf("%d of %d events did not become visible", len(seen)-n, len(seen)))
		}
		if n == len(seen) || r.failed(nil) {
			return
		}
		poll := time.NewTimer(unheard)
		select {
		case <-moved:
		case <-poll.C:
		case <-ctx.Done():
			r.failed(context.Cause(ctx))
		}
		poll.Stop()
	}
}

// shown verifies that the API returns the rows of an event to a mandate that
// watches its item.
func (r *run) shown(ctx context.Context, e *event.Event) {
	batch := e.Data.(*contracts.Observations)
	o := &batch.Observations[0]
	it := &r.data.items[uint64(o.ItemID)-firstItem]
	if len(it.mandates) == 0 {
		return
	}
	d, _ := r.page(ctx, r.world.database, it.mandates[0], url.Values{
		"itemId": {strconv.FormatUint(it.id, 10)}, "site": {string(batch.Site)}, "limit": {"1000"},
		"capturedFrom": {o.CapturedAt.Add(-time.Second).Format(time.RFC3339)}, "capturedTo": {o.CapturedAt.Add(time.Second).Format(time.RFC3339)},
	})
	if d.rows < int64(o.Rows()) {
		r.failed(fmt.Errorf("the API shows %d of %d rows of an event that should be visible", d.rows, o.Rows()))
	}
}
