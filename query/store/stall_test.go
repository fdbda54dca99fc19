package store_test

import (
	"context"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/query"
	"preismon/query/store"
)

// TestStalledServer: a read ends with its context even when the server sends
// nothing more, and no later read gets its connection.
func TestStalledServer(t *testing.T) {
	w := newWorld(t, 12, 600)
	line, dsn := proxy.Before(t, w.cfg.DSN.Reveal())
	w.cfg.DSN = contracts.Secret(dsn)
	st := must.Get(store.New(w.cfg))(t)
	defer st.Close()
	a := must.Get(st.Access(t.Context(), accountWhole))(t)
	q := query.ResultsQuery{Selectors: query.Selectors{Item: 3}, Watermark: query.Watermark{Epoch: epoch, Seq: w.mark}, Export: true, Limit: 1000}
	read := func(ctx context.Context) (rows int, err error) {
		err = st.Results(ctx, a.Visibility, &q, func(b *query.Block) error {
			rows += b.Len
			return nil
		})
		return rows, err
	}
	limited := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second/10) }
	left := func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/10, cancel)
		return ctx, cancel
	}
	for name, c := range map[string]struct {
		passes int64 // bytes of the answer
		reader func() (context.Context, context.CancelFunc)
	}{
		"before any answer":                    {0, limited},
		"before any answer, the client leaves": {0, left},
		"inside of a block":                    {3000, limited},
		"inside of a block, the client leaves": {3000, left},
	} {
		if rows, err := read(t.Context()); err != nil || rows == 0 { // leaves a working connection behind
			t.Fatalf("%s: %d rows, %v", name, rows, err)
		}
		line.Set(proxy.Down, proxy.Rule{Left: c.passes, Then: proxy.Hold})
		ctx, cancel := c.reader()
		ended := make(chan error)
		go func() {
			_, err := read(ctx)
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			line.Heal()
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the read goes on without its context", name)
			line.Heal()
			<-ended
		}
		cancel()
	}
	if rows, err := read(t.Context()); err != nil || rows == 0 {
		t.Errorf("at the end: %d rows, %v", rows, err)
	}
}
