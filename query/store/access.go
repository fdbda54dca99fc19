package store

import (
	"context"
	"sync"

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
	mu sync.Mutex
	of map[contracts.AccountID]contracts.MandateID
}

const maxMandates = 1 << 16 // accounts remembered; beyond it all are forgotten

func (m *mandates) last(a contracts.AccountID) contracts.MandateID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[a]
}

func (m *mandates) remember(a contracts.AccountID, mandate contracts.MandateID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= maxMandates {
		m.of = map[contracts.AccountID]contracts.MandateID{}
	}
	m.of[a] = mandate
}

// Access implements query.Store.
func (s *Store) Access(ctx context.Context, account contracts.AccountID) (*query.Access, error) {
	a := &query.Access{Account: account}
	v := &a.Visibility
	last := s.mandates.last(account)
	var state inForce
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.account(gctx, a) })
	if last != 0 {
		g.Go(func() (err error) { state, err = s.inForce(gctx, last); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if last != v.Mandate || last == 0 {
		var err error
		if state, err = s.inForce(ctx, v.Mandate); err != nil {
			return nil, err
		}
		s.mandates.remember(account, v.Mandate)
	}
	v.Version = state.version
	v.Applied = v.Version != 0 && state.applied == v.Version
	a.Watermark = state.watermark
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

// inForce is the state of a mandate at one moment.
type inForce struct {
	version, applied uint64
	watermark        query.Watermark
}

// Kinds of rows of in_force.sql.
const (
	kindScope = iota
	kindApplied
	kindCheckpoint
)

// inForce reads the state of a mandate. What is applied, and complete, is what
// every partition has.
func (s *Store) inForce(ctx context.Context, mandate contracts.MandateID) (state inForce, err error) {
	type place struct {
		kind      uint8
		partition uint16
		epoch     uint32
		place     uint64
	}
	p := params{}
	p.uint("mandate", uint64(mandate))
	st := render("in_force.sql", nil, p)
	st.settings = briefly
	places, err := rows(ctx, s, st, func(r driver.Rows) (p place, err error) {
		err = r.Scan(&p.kind, &p.partition, &p.epoch, &p.place)
		return p, err
	})
	applied, complete := false, false
	for _, p := range places {
		mark := query.Watermark{Epoch: p.epoch, Seq: p.place}
		switch p.kind {
		case kindScope:
			state.version = p.place
		case kindApplied:
			if !applied || p.place < state.applied {
				state.applied, applied = p.place, true
			}
		case kindCheckpoint:
			if !complete || mark.Epoch < state.watermark.Epoch || mark.Epoch == state.watermark.Epoch && mark.Seq < state.watermark.Seq {
				state.watermark, complete = mark, true
			}
		}
	}
	return state, err
}
