package auth

import (
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// semaphore bounds how many reads of an account run at the same time.
type semaphore interface {
	// take takes a slot; ok is false if there is none. release must be called
	// exactly once.
	take(account contracts.AccountID) (release func(), ok bool)
	// free returns how many more reads the account may begin now.
	free(account contracts.AccountID) int
}

// heavyLimit is the name of the limit of heavy reads.
const heavyLimit = "heavy"

// Heavy takes a slot among the heavy reads of an account. release gives it
// back and may be called more than once.
func (t *Throttle) Heavy(account contracts.AccountID) (release func(), err error) {
	giveBack, ok := t.heavy.take(account)
	t.tally(heavyLimit).add(ok)
	if !ok {
		return nil, &fault.Error{
			Kind: fault.RateLimited, RetryAfter: time.Second,
			Msg: "Too many results reads of this account at the same time. Wait for one to end.",
		}
	}
	t.running.Add(1)
	return sync.OnceFunc(func() {
		t.running.Add(-1)
		giveBack()
	}), nil
}

// HeavySlots returns how many heavy reads an account may run at the same time,
// and how many more it may begin now.
func (t *Throttle) HeavySlots(account contracts.AccountID) (limit, free int) {
	return t.heavyMax, t.heavy.free(account)
}

// localSemaphore counts in the memory of this node.
type localSemaphore struct {
	most int

	mu    sync.Mutex
	taken map[contracts.AccountID]int
}

func newLocalSemaphore(most int) *localSemaphore {
	return &localSemaphore{most: most, taken: map[contracts.AccountID]int{}}
}

func (l *localSemaphore) take(account contracts.AccountID) (func(), bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken[account] >= l.most {
		return nil, false
	}
	l.taken[account]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.taken[account]--; l.taken[account] == 0 {
			delete(l.taken, account)
		}
	}, true
}

func (l *localSemaphore) free(account contracts.AccountID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.most-l.taken[account])
}
