package store

import (
	"context"
	"sync/atomic"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/cache"
)

// accounts remembers what accounts may do. An entry is right as long as its
// snapshot is the current one, which each request checks. An entry of another
// snapshot only shows which mandate the account had, so that the mandate's
// scope is read together with the account, not after it; it decides nothing.
type accounts struct {
	*cache.Cache[contracts.AccountID, snapshotAccess]
	right, wrong, unknown atomic.Uint64 // how often that mandate was right, wrong or not known
}

type snapshotAccess struct {
	snapshot query.Snapshot
	access   query.Access
}

func newAccounts(bytes int64) *accounts {
	return &accounts{Cache: cache.New(bytes, func(_ contracts.AccountID, r snapshotAccess) int {
		v := &r.access.Visibility
		n := 256 + 8*len(v.Versions) + 8*len(v.Scope.Orders)
		for _, site := range v.Scope.Sites {
			n += 16 + len(site)
		}
		return n
	})}
}

// Access implements query.Store. It checks how far the tables are, and reads
// the rest only if that has changed; concurrent calls share their statements.
func (s *Store) Access(ctx context.Context, account contracts.AccountID) (*query.Access, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	known, _ := s.accounts.Get(account)
	if known.access.Remembered = known.snapshot == now.snapshot && now.snapshot != 0; !known.access.Remembered {
		if known.access, err = s.access(ctx, account, known.access.Visibility.Mandate); err != nil {
			return nil, err
		}
		known.snapshot = now.snapshot // read before the access, so never newer than it
		known.access.Visibility.Snapshot = now.snapshot
		s.accounts.Put(account, known)
	}
	known.access.Watermark, known.access.Generation = now.watermark, now.generation
	known.access.Visibility.Floor, known.access.Visibility.Watermark = now.floor, now.watermark
	return &known.access, nil
}

// AccessUncached reads what an account may do, whatever is remembered of it, but not
// how far the tables are. last is the mandate that it belonged to.
func (s *Store) AccessUncached(ctx context.Context, account contracts.AccountID, last contracts.MandateID) (query.Access, error) {
	return s.access(ctx, account, last)
}

// access reads what an account may do. last is the mandate that it belonged to
// when it was last read; 0: not known.
func (s *Store) access(ctx context.Context, account contracts.AccountID, last contracts.MandateID) (none query.Access, err error) {
	for {
		st, err := s.states.ask(ctx, accountKey{account, last})
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

// Watermark reads the position up to which every table is complete now.
func (s *Store) Watermark(ctx context.Context) (query.Watermark, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return now.watermark, err
}

// Snapshot returns how far the catalogue is applied and what is in force now.
func (s *Store) Snapshot(ctx context.Context) (query.Snapshot, error) {
	now, err := s.moments.ask(ctx, struct{}{})
	return now.snapshot, err
}
