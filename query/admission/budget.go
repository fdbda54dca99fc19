package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"preismon/contracts/fault"
)

// materialShare is the part of its time that a read may wait here and still be
// called slow by itself, when it does not finish.
const materialShare = 4

// leastWait is the shortest wait that counts, however short the read's time is.
const leastWait = 10 * time.Millisecond

// budget is the time of a read, and how much of it went into waiting: parts
// of a read wait side by side, and count once.
type budget struct {
	total time.Duration

	mu      sync.Mutex
	waiting int
	since   time.Time // when the first of those who wait began
	waited  time.Duration
}

type budgetKey struct{}

// WithBudget notes how much of its time a read waits here, for memory or
// a statement. It sets no deadline.
func WithBudget(ctx context.Context, total time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{total: total})
}

// waits notes a wait, until it is called again.
func waits(ctx context.Context) (over func()) {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting++; b.waiting == 1 {
		b.since = time.Now()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.waiting--; b.waiting == 0 {
			b.waited += time.Since(b.since)
		}
	}
}

// Late judges a read that did not finish in its time: one that waited for a
// material part of it is refused for want of capacity, and is nobody's slow
// query. nil: it was slow.
func (n *Node) Late(ctx context.Context, err error) error {
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if b == nil {
		return nil
	}
	b.mu.Lock()
	waited := b.waited
	if b.waiting > 0 {
		waited += time.Since(b.since)
	}
	b.mu.Unlock()
	if waited < max(b.total/materialShare, leastWait) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts.refused[ofNode]++
	return &fault.Error{
		Kind: fault.Unavailable, Err: errors.Join(errFull, err), RetryAfter: retryAfter,
		Msg: fmt.Sprintf("The read waited %.0f s of its %.0f s for capacity of this node, and did not finish. Send the request again.",
			waited.Seconds(), b.total.Seconds()),
	}
}
