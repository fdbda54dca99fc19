package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"preismon/contracts/fault"
)

// materialShare sets how much of its time, 1/materialShare, a read may spend
// waiting here and still count as slow itself if it does not finish.
const materialShare = 4

// leastWait is the shortest wait that counts, however little time the read has.
const leastWait = 10 * time.Millisecond

// budget is the time of a read, and how much of it was spent waiting. Parts of
// a read that wait at the same time count once.
type budget struct {
	total time.Duration

	mu      sync.Mutex
	waiting int
	since   time.Time // when the first of the current waits began
	waited  time.Duration
}

type budgetKey struct{}

// WithBudget records how much of its time a read waits here, for memory or a
// statement. It sets no deadline.
func WithBudget(ctx context.Context, total time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{total: total})
}

// waits records a wait that lasts until over is called.
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
// material part of it is refused for lack of capacity, and does not count as a
// slow query. nil: the read itself was slow.
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
