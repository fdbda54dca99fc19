package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/store"
)

// TestSlowReadersLeaveRoomForPages: readers of long answers that do not read
// on, more of them than there are statements, hold no statement, so that
// neither a page waits nor an unlimited read whose rows wait for no client.
func TestSlowReadersLeaveRoomForPages(t *testing.T) {
	w := newWorld(t, 77, 3000)
	cfg := w.cfg
	limits := admission.Defaults()
	limits.Statements = 8
	node := admission.New(limits)
	cfg.Admission, cfg.DSN = node, cfg.DSN+"?max_block_size=16" // so that answers are long
	st := must.Get(store.New(cfg))(t)
	defer st.Close()
	a := must.Get(st.Access(t.Context(), accountWhole))(t)
	mark := must.Get(st.Watermark(t.Context()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var began atomic.Int32
	var running sync.WaitGroup
	const readers = 24 // three times as many as statements
	for range readers {
		running.Go(func() {
			read, err := node.Begin(ctx, true, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer read.End()
			first := true
			_ = st.Results(ctx, a.Visibility, &query.ResultsQuery{Selectors: query.Selectors{Item: 3}, Watermark: mark, Read: read}, func(*query.Block) error {
				if first {
					began.Add(1)
				}
				first = false
				<-ctx.Done()
				return ctx.Err()
			})
		})
	}
	for end := time.Now().Add(time.Minute); began.Load() < readers; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d readers began", began.Load())
		}
	}
	limited, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	for name, q := range map[string]query.ResultsQuery{
		"a page":                        {Limit: 5},
		"the newest of each, unlimited": {Latest: query.NewestRow, Window: contracts.Window{From: w.now.Add(-168 * time.Hour), To: w.now}},
	} {
		q.Selectors.Item, q.Watermark = 3, mark
		rows := 0
		err := st.Results(limited, a.Visibility, &q, func(b *query.Block) error {
			rows += b.Len
			return nil
		})
		if err != nil || rows == 0 {
			t.Errorf("%s beside them: %d rows, %v", name, rows, err)
		}
	}
	for end := time.Now().Add(time.Minute); node.Stats().Rows > 0; time.Sleep(10 * time.Millisecond) { // the statements that read ahead
		if time.Now().After(end) {
			t.Fatalf("%d statements run for readers that take nothing", node.Stats().Rows)
		}
	}
	cancel()
	running.Wait()
}
