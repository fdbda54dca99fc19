package projector_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

var errInjected = errors.New("injected failure")

// faulty is a connection that can fail before or after a statement takes
// effect.
type faulty struct {
	pool *clickhouse.Pool

	mu          sync.Mutex
	before      func(id string) error // by query id; nil: no failure
	after       func(id string) error
	seen        []string         // query ids of writes
	onStatement func(sql string) // is called with every statement; nil: not called
	silent      string           // the write whose sender gives up without the server noticing
}

func (f *faulty) Do(ctx context.Context, q ch.Query) error {
	f.mu.Lock()
	before, after, silent := f.before, f.after, f.silent != "" && f.silent == what(q.QueryID)
	if f.onStatement != nil {
		f.onStatement(q.Body)
	}
	if q.QueryID != "" {
		f.seen = append(f.seen, q.QueryID)
	}
	f.mu.Unlock()
	if before != nil {
		if err := before(q.QueryID); err != nil {
			return err
		}
	}
	if silent {
		go func() { _ = f.pool.Do(context.WithoutCancel(ctx), q) }()
		<-ctx.Done()
		return ctx.Err()
	}
	if err := f.pool.Do(ctx, q); err != nil {
		return err
	}
	if after != nil {
		return after(q.QueryID)
	}
	return nil
}

// hook calls before with the query id of each statement; nil: nothing is called.
func (f *faulty) hook(before func(id string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// what returns the part of a query id that names the write; empty: no write.
func what(id string) string {
	parts := strings.SplitN(id, "-", 4)
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// failOnce makes the first write of that name fail.
func (f *faulty) failOnce(name string, afterwards bool) { f.failNth(name, 0, afterwards) }

// failNth makes one write of that name fail, after so many others.
func (f *faulty) failNth(name string, others int, afterwards bool) {
	var met atomic.Int64
	hook := func(id string) error {
		if what(id) == name && met.Add(1) == int64(others)+1 {
			return errInjected
		}
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if afterwards {
		f.after = hook
	} else {
		f.before = hook
	}
}

// silence makes senders of the writes of that name give up without the server
// noticing, as if the network had dropped their last message.
func (f *faulty) silence(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = name
}
