package query

import (
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// MaxTails is how many tails an account may have on a node at once.
const MaxTails = 4

// tails counts the open tails, which hold nothing else.
type tails struct {
	mu  sync.Mutex
	of  map[contracts.AccountID]int
	all int
}

// Tail admits a caller that follows a feed until it calls leave.
func (s *Service) Tail(p Principal) (leave func(), err error) {
	t := &s.tails
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[p.Account] >= MaxTails {
		return nil, &fault.Error{Kind: fault.RateLimited, RetryAfter: 10 * time.Second, Msg: "This account has 4 tails open, which is as many as it may. End one, or ask with wait."}
	}
	if t.of == nil {
		t.of = map[contracts.AccountID]int{}
	}
	t.of[p.Account]++
	t.all++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		if t.of[p.Account]--; t.of[p.Account] == 0 {
			delete(t.of, p.Account)
		}
	}), nil
}

func (t *tails) open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}
