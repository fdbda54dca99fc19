package store

import (
	"context"
	"sync/atomic"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/cache"
)

// accounts remembers what accounts may do. What is remembered at a snapshot is
// right as long as that is the one of now, which each request asks for. Of
// another snapshot it tells whose account it was, so that the mandate's scope is
// asked for beside the account, not after it, and decides nothing.
type accounts struct {
	*cache.Cache[contracts.AccountID, remembered]
	right, wrong, unknown atomic.Uint64 // what asking for that mandate brought
}

type remembered struct {
	snapshot query.Snapshot
	access   query.Access
}

func newAccounts(bytes int64) *accounts {
	return &accounts{Cache: cache.New(bytes, func(_ contracts.AccountID, r remembered) int {
		v := &r.access.Visibility
		n := 256 + 8*len(v.Versions) + 8*len(v.Scope.Orders)
		for _, site := range v.Scope.Sites {
			n += 16 + len(site)
		}
		return n
	})}
}

// Access implements query.Store. It asks how far the tables are, and for the
// rest where that changed; all that ask at once share their statements.
func (s *Store) Access(ctx context.Context, account contracts.AccountID) (*query.Access, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	known, _ := s.accounts.Get(account)
	if known.snapshot != now.snapshot || now.snapshot == 0 {
		if known.access, err = s.access(ctx, account, known.access.Visibility.Mandate); err != nil {
			return nil, err
		}
		known.snapshot = now.snapshot // which was there before what was read then
		known.access.Visibility.Snapshot = now.snapshot
		s.accounts.Put(account, known)
	}
	known.access.Watermark, known.access.Generation, known.access.Visibility.Floor = now.watermark, now.generation, now.floor
	return &known.access, nil
}

// access reads what an account may do, which was of a mandate when it was last
// read; 0: it was not.
func (s *Store) access(ctx context.Context, account contracts.AccountID, last contracts.MandateID) (none query.Access, err error) {
	for {
		st, err := s.states.ask(ctx, who{account, last})
		if err != nil {
			return none, err
		}
		found, ok := st.accounts[account]
		if !ok {
			return none, fault.New(fault.NotFound, "", "No such record.")
		}
		a := found.access
		v := &a.Visibility
		switch last {
		case v.Mandate:
			s.accounts.right.Add(1)
		case 0:
			s.accounts.unknown.Add(1)
		default:
			s.accounts.wrong.Add(1)
		}
		if last == v.Mandate {
			scope := st.scopes[last]
			v.Versions, v.Applied = scope.versions, scope.applied
			return a, nil
		}
		last = v.Mandate
	}
}

// Watermark reads how far every table is complete, as of now.
func (s *Store) Watermark(ctx context.Context) (query.Watermark, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return now.watermark, err
}

// Snapshot tells how far the catalogue is applied and what is in force, as of now.
func (s *Store) Snapshot(ctx context.Context) (query.Snapshot, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return now.snapshot, err
}
