package ingest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// TestExpect: a stream is reopened if messages wait and none is delivered; a
// quiet one is left alone, even for a day.
func TestExpect(t *testing.T) {
	for name, c := range map[string]struct {
		waiting   uint64
		delivered bool
		want      error
	}{
		"quiet":         {0, false, nil},
		"not delivered": {3, false, errNothing},
		"delivered":     {3, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				delivered := expect(c.waiting, cancel)
				defer delivered()
				time.Sleep(firstWait / 2)
				if c.delivered {
					delivered()
				}
				time.Sleep(24 * time.Hour)
				if err := context.Cause(ctx); !errors.Is(err, c.want) {
					t.Errorf("ended with %v, want %v", err, c.want)
				}
			})
		})
	}
}

// TestFeedEndsWhereTheStreamDoes: a stream that lost messages before they were
// applied is complete, and not behind, at the end that it has now.
func TestFeedEndsWhereTheStreamDoes(t *testing.T) {
	l := &Consumer{changed: make(chan struct{})}
	f := newFeed(l, event.StreamCatalog, event.SubjectsCatalog, &l.progress.Catalog)
	start := time.Now()
	report := func(last uint64, queriedAt time.Time) {
		f.begin(&jetstream.StreamInfo{State: jetstream.StreamState{LastSeq: last, Msgs: last}}, queriedAt)
	}
	applied := func(last, pending uint64) {
		f.came.Store(last)
		f.recordApplied(&cut{Batch: event.Batch{Last: last, Pending: pending}})
	}
	report(100, start)
	applied(50, 50)
	report(80, start.Add(-time.Second)) // from before the stream had 100
	if p := f.at; p.Last != 100 || p.Lag != 50 {
		t.Errorf("an older reply: %+v", p)
	}
	report(80, start.Add(time.Second))
	if p := f.at; p.Last != 80 || p.Lag != 30 || p.Messages != 80 {
		t.Errorf("it lost its tail: %+v", p)
	}
	applied(79, 1)
	if f.complete() {
		t.Error("complete before the end")
	}
	applied(80, 0)
	report(75, start.Add(2*time.Second)) // a reply from before the last batch
	if p := f.at; !f.complete() || p.Last != 80 || p.Lag != 0 {
		t.Errorf("at the end, complete %t: %+v", f.complete(), p)
	}
}
