package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

func scanID[T ~uint64](r driver.Rows) (T, error) {
	var id uint64
	err := r.Scan(&id)
	return T(id), err
}

// admit waits until a statement may run.
func (s *Store) admit(ctx context.Context, st statement) (end func(), err error) {
	switch st.kind {
	case ofRows:
		return s.node.Rows(ctx, false)
	case ofSums:
		return s.node.Sums(ctx)
	}
	return s.node.Records(ctx)
}

// rows runs a statement and reads each row with scan.
func rows[T any](ctx context.Context, s *Store, st statement, scan func(driver.Rows) (T, error)) (all []T, err error) {
	end, err := s.admit(ctx, st)
	if err != nil {
		return nil, kind(err)
	}
	defer end()
	ctx, exec := s.ask(ctx, st)
	err = s.circuit.guard(ctx, func() error {
		r, err := s.conn.Query(exec.context(ctx, st), st.text)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			v, err := scan(r)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return errors.Join(r.Err(), r.Close())
	})
	return all, exec.end(err)
}

// row runs a statement that returns exactly one row.
func row(ctx context.Context, s *Store, st statement, dest ...any) error {
	end, err := s.admit(ctx, st)
	if err != nil {
		return kind(err)
	}
	defer end()
	ctx, asked := s.ask(ctx, st)
	err = s.circuit.guard(ctx, func() error {
		return s.conn.QueryRow(asked.context(ctx, st), st.text).Scan(dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.Wrap(err, fault.NotFound, "No such record.")
	}
	return asked.end(err)
}

// Credentials is what a login is checked against.
type Credentials struct {
	Account        contracts.AccountID
	PasswordHash   string
	Administrative bool
	Disabled       bool
}

// ByLogin finds the account with a login identifier: if several have it, the
// only one that is not disabled. It returns a NotFound fault if there is no
// such account.
func (s *Store) ByLogin(ctx context.Context, login string) (Credentials, error) {
	p := params{}
	p.text("login", login)
	found, err := rows(ctx, s, render("credentials.sql", nil, p), func(r driver.Rows) (c Credentials, err error) {
		var id uint64
		err = r.Scan(&id, &c.PasswordHash, &c.Administrative, &c.Disabled)
		c.Account = contracts.AccountID(id)
		return c, err
	})
	if err != nil {
		return Credentials{}, err
	}
	if len(found) == 0 || (len(found) > 1 && found[0].Disabled == found[1].Disabled) {
		return Credentials{}, fault.New(fault.NotFound, "", "No such account.")
	}
	return found[0], nil
}

// Active returns those of the given accounts that exist and are neither
// disabled nor administrative.
func (s *Store) Active(ctx context.Context, accounts []contracts.AccountID) ([]contracts.AccountID, error) {
	p := params{}
	uints(p, "accounts", accounts)
	st := render("active.sql", nil, p)
	st.settings = briefly
	return rows(ctx, s, st, scanID[contracts.AccountID])
}

// Sites implements query.Store.
func (s *Store) Sites(ctx context.Context, v query.Visibility, q query.SitesQuery) ([]contracts.Site, error) {
	p := params{}
	sc := visible(p, v, query.Selectors{Site: q.Site})
	p.text("after", string(q.After))
	p.uint("limit", uint64(q.Limit))
	return rows(ctx, s, render("sites.sql", sc, p), scanSite)
}

// SiteRecords implements query.Store.
func (s *Store) SiteRecords(ctx context.Context) ([]contracts.Site, error) {
	return rows(ctx, s, render("site_records.sql", nil, params{}), scanSite)
}

func scanSite(r driver.Rows) (site contracts.Site, err error) {
	err = r.Scan((*string)(&site.Site), &site.Name, (*string)(&site.SiteType), &site.CountryCode, (*string)(&site.CurrencyCode),
		&site.Operator, &site.CanonicalCountryMarket, &site.PriceComparisonMarket)
	return site, err
}

// ofItems builds a statement of the enrichments, with the values they have in
// common.
func ofItems(file string, n shards, v query.Visibility, items []contracts.ItemID) statement {
	p := params{}
	sc := visible(p, v, query.Selectors{})
	sc.Shards = n
	uints(p, "items", items)
	return render(file, sc, p)
}

type referencePrice struct {
	AmountMinor int64  `ch:"amount_minor"`
	Currency    string `ch:"currency"`
	Site        string `ch:"site"`
	Quantity    string `ch:"quantity"`
	PriceType   string `ch:"price_type"`
}

// ReferencePrices implements query.Store.
func (s *Store) ReferencePrices(ctx context.Context, v query.Visibility, items []contracts.ItemID) ([]contracts.ReferencePrices, error) {
	return rows(ctx, s, ofItems("reference_prices.sql", s.shards, v, items), func(r driver.Rows) (contracts.ReferencePrices, error) {
		var id uint64
		var prices []referencePrice
		err := r.Scan(&id, &prices)
		rec := contracts.ReferencePrices{MandateID: v.Mandate, ItemID: contracts.ItemID(id)}
		for _, p := range prices {
			rec.Prices = append(rec.Prices, contracts.ReferencePrice{
				AmountMinor: p.AmountMinor, CurrencyCode: contracts.Currency(p.Currency), AppliesToSite: contracts.SiteKey(p.Site),
				ReferenceQuantity: p.Quantity, PriceType: p.PriceType,
			})
		}
		return rec, err
	})
}

// CustomerData implements query.Store.
func (s *Store) CustomerData(ctx context.Context, v query.Visibility, items []contracts.ItemID) ([]contracts.CustomerData, error) {
	return rows(ctx, s, ofItems("customer_data.sql", s.shards, v, items), func(r driver.Rows) (contracts.CustomerData, error) {
		var id uint64
		rec := contracts.CustomerData{MandateID: v.Mandate}
		err := r.Scan(&id, &rec.Category, &rec.Fields)
		rec.ItemID = contracts.ItemID(id)
		return rec, err
	})
}

// CatalogueVersions implements query.Store.
func (s *Store) CatalogueVersions(ctx context.Context, v query.Visibility, include query.Include) (versions []uint64, err error) {
	p := params{}
	p.uint("mandate", uint64(v.Mandate))
	err = row(ctx, s, render("catalogue_versions.sql", include, p), &versions)
	return versions, err
}

type pairOf[T any] struct {
	pair  contracts.Pair
	value T
}

// PairOrders implements query.Store.
func (s *Store) PairOrders(ctx context.Context, v query.Visibility, items []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	found, err := rows(ctx, s, ofItems("pair_orders.sql", s.shards, v, items), func(r driver.Rows) (p pairOf[[]contracts.OrderID], err error) {
		var id uint64
		var orders []uint64
		err = r.Scan(&id, (*string)(&p.pair.Site), &orders)
		p.pair.Item, p.value = contracts.ItemID(id), ids[contracts.OrderID](orders)
		return p, err
	})
	return byPair(found), err
}

// LastProcessed implements query.Store.
func (s *Store) LastProcessed(ctx context.Context, v query.Visibility, items []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	found, err := rows(ctx, s, ofItems("last_processed.sql", s.shards, v, items), func(r driver.Rows) (p pairOf[time.Time], err error) {
		var id uint64
		err = r.Scan(&id, (*string)(&p.pair.Site), &p.value)
		p.pair.Item = contracts.ItemID(id)
		return p, err
	})
	return byPair(found), err
}

func byPair[T any](found []pairOf[T]) map[contracts.Pair]T {
	m := make(map[contracts.Pair]T, len(found))
	for _, p := range found {
		m[p.pair] = p.value
	}
	return m
}

func as[T ~string](vs []string) []T {
	out := make([]T, len(vs))
	for i, v := range vs {
		out[i] = T(v)
	}
	return out
}

func ids[T ~uint64](vs []uint64) []T {
	out := make([]T, len(vs))
	for i, v := range vs {
		out[i] = T(v)
	}
	return out
}

var _ query.Store = (*Store)(nil)
