package store

import (
	"context"
	"maps"
	"slices"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// accountKey identifies whose state is read: an account, and the mandate that it
// probably belongs to; 0: not known.
type accountKey struct {
	account contracts.AccountID
	mandate contracts.MandateID
}

// state is what some accounts may do, and what is in force for some mandates.
type state struct {
	accounts map[contracts.AccountID]accountRow
	scopes   map[contracts.MandateID]inForce // for every requested mandate that has pairs
}

type accountRow struct {
	version uint64
	access  query.Access
}

// inForce is the state of a mandate's scope: the versions in force, and whether
// they are applied.
type inForce struct {
	versions []uint64 // one of each partition that has one, ascending
	applied  bool
}

// stateRow is a row of state.sql.
type stateRow struct {
	part           string
	id, of, number uint64
	access         query.Access
}

func scanState(r driver.Rows) (row stateRow, err error) {
	a, v := &row.access, &row.access.Visibility
	err = r.Scan(&row.part, &row.id, &row.of, &row.number, &a.Administrative, &a.Disabled, (*keys[contracts.Permission])(&a.Permissions),
		&v.Scope.AllOrders, (*ids[contracts.OrderID])(&v.Scope.Orders), &v.Scope.AllSites, (*keys[contracts.SiteKey])(&v.Scope.Sites))
	a.Account, v.Mandate = contracts.AccountID(row.id), contracts.MandateID(row.of)
	return row, err
}

// readState reads what is in force now.
func (s *Store) readState(ctx context.Context, of []accountKey) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	accounts, mandates := map[contracts.AccountID]struct{}{}, map[contracts.MandateID]struct{}{}
	for _, w := range of {
		accounts[w.account] = struct{}{}
		if w.mandate != 0 {
			mandates[w.mandate] = struct{}{}
		}
	}
	p := params{}
	uints(p, "accounts", slices.Sorted(maps.Keys(accounts)))
	requested := slices.Sorted(maps.Keys(mandates))
	uints(p, "mandates", requested)
	st := render("state.sql", s.shards, p)
	st.settings = briefly
	all, err := rows(ctx, s, st, scanState)
	if err != nil {
		return nil, err
	}
	return s.shards.state(all, requested), nil
}

// byPartition is the newest version of each partition.
type byPartition map[uint16]uint64

func (b byPartition) note(partition uint16, version uint64) {
	b[partition] = max(b[partition], version)
}

// state builds a state from the rows. A scope is applied if every partition has
// applied what is in force there. Each has a version of a mandate with pairs,
// wherever these are; of one without, only those that knew it with pairs. So
// where all versions are empty, there is none to wait for.
func (n shards) state(all []stateRow, mandates []contracts.MandateID) *state {
	st := &state{accounts: map[contracts.AccountID]accountRow{}, scopes: map[contracts.MandateID]inForce{}}
	newest, applied := map[contracts.MandateID]byPartition{}, map[contracts.MandateID]byPartition{}
	type scopeVersion struct {
		mandate contracts.MandateID
		version uint64
	}
	pairs := map[scopeVersion]uint64{}
	for _, m := range mandates {
		newest[m], applied[m] = byPartition{}, byPartition{}
	}
	for _, row := range all {
		switch mandate := contracts.MandateID(row.id); {
		case row.part == "account":
			if old, ok := st.accounts[row.access.Account]; !ok || old.version < row.number {
				st.accounts[row.access.Account] = accountRow{row.number, row.access}
			}
		case row.part == "applied":
			applied[mandate].note(uint16(row.of), row.number)
		case row.number > 0:
			newest[mandate].note(n.of(row.number), row.number)
			pairs[scopeVersion{mandate, row.number}] = row.of
		}
	}
	for _, m := range mandates {
		versions := slices.Sorted(maps.Values(newest[m]))
		if !slices.ContainsFunc(versions, func(version uint64) bool { return pairs[scopeVersion{m, version}] > 0 }) {
			continue
		}
		st.scopes[m] = inForce{versions, n.all(len(newest[m])) && maps.Equal(newest[m], applied[m])}
	}
	return st
}
