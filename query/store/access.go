package store

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"
)

// mandates remembers whose account an account was when it was last read, so
// that the mandate's state is asked for beside the account, not after it. It
// decides nothing: a state is used only when the account, read in the same
// request, is of that mandate.
type mandates struct {
	memory[contracts.AccountID, contracts.MandateID]
	right, wrong, unknown atomic.Uint64 // what asking for it brought
}

// Access implements query.Store.
func (s *Store) Access(ctx context.Context, account contracts.AccountID) (*query.Access, error) {
	a := &query.Access{Account: account}
	v := &a.Visibility
	last, _ := s.mandates.get(account)
	var scope inForce
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.account(gctx, a) })
	if last != 0 {
		g.Go(func() (err error) { scope, err = s.inForce(gctx, last); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	switch last {
	case v.Mandate:
		s.mandates.right.Add(1)
	case 0:
		s.mandates.unknown.Add(1)
	default:
		s.mandates.wrong.Add(1)
	}
	if last != v.Mandate || last == 0 {
		var err error
		if scope, err = s.inForce(ctx, v.Mandate); err != nil {
			return nil, err
		}
		s.mandates.put(account, v.Mandate)
	}
	v.Versions, v.Applied = scope.versions, scope.applied
	return a, nil
}

// account reads what an account may do.
func (s *Store) account(ctx context.Context, a *query.Access) error {
	p := params{}
	p.uint("account", uint64(a.Account))
	st := render("access.sql", nil, p)
	st.settings = briefly
	var (
		mandate            uint64
		permissions, sites []string
		orders             []uint64
		v                  = &a.Visibility
	)
	err := row(ctx, s, st, &mandate, &a.Administrative, &a.Disabled, &permissions, &v.Scope.AllOrders, &orders, &v.Scope.AllSites, &sites)
	v.Mandate = contracts.MandateID(mandate)
	a.Permissions = as[contracts.Permission](permissions)
	v.Scope.Sites = as[contracts.SiteKey](sites)
	v.Scope.Orders = ids[contracts.OrderID](orders)
	return err
}

// inForce is the state of a mandate's scope at one moment: the versions in
// force, and whether they are applied.
type inForce struct {
	versions []uint64 // one of each partition that has one, ascending
	applied  bool
}

// inForce reads the state of a mandate's scope. It is applied where every
// partition has applied what is in force there.
func (s *Store) inForce(ctx context.Context, mandate contracts.MandateID) (state inForce, err error) {
	type version struct {
		applied   bool
		partition uint16
		version   uint64
	}
	p := params{}
	p.uint("mandate", uint64(mandate))
	st := render("in_force.sql", s.shards, p)
	st.settings = briefly
	versions, err := rows(ctx, s, st, func(r driver.Rows) (v version, err error) {
		err = r.Scan(&v.applied, &v.partition, &v.version)
		return v, err
	})
	newest, applied := map[uint16]uint64{}, map[uint16]uint64{} // by partition
	for _, v := range versions {
		switch of := s.shards.of(v.version); {
		case v.applied:
			applied[v.partition] = max(applied[v.partition], v.version)
		case v.version > 0:
			newest[of] = max(newest[of], v.version)
		}
	}
	state.versions = slices.Sorted(maps.Values(newest))
	state.applied = s.shards.all(len(newest)) && maps.Equal(newest, applied)
	return state, err
}

// Watermark implements query.Store. What is complete is what every partition
// has; nothing, before each shard's has any.
func (s *Store) Watermark(ctx context.Context) (query.Watermark, error) {
	type checkpoint struct {
		partition uint16
		of        uint32
		mark      query.Watermark
	}
	st := render("watermark.sql", s.shards, params{})
	st.settings = briefly
	checkpoints, err := rows(ctx, s, st, func(r driver.Rows) (c checkpoint, err error) {
		err = r.Scan(&c.partition, &c.of, &c.mark.Epoch, &c.mark.Seq)
		return c, err
	})
	if err != nil {
		return query.Watermark{}, err
	}
	newest := map[uint16]query.Watermark{}
	for _, c := range checkpoints {
		if err := s.shards.are(c.of); err != nil {
			return query.Watermark{}, err
		}
		if newest[c.partition].Compare(c.mark) < 0 {
			newest[c.partition] = c.mark
		}
	}
	if !s.shards.all(len(newest)) {
		return query.Watermark{}, nil
	}
	return slices.MinFunc(slices.Collect(maps.Values(newest)), query.Watermark.Compare), nil
}
