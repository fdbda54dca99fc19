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

// into scans a row into fields of a value.
func into[T any](fields func(*T) []any) func(driver.Rows) (T, error) {
	return func(r driver.Rows) (v T, err error) {
		err = r.Scan(fields(&v)...)
		return v, err
	}
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

// byKey runs a statement and returns the values of its rows by their keys.
func byKey[K comparable, V any](ctx context.Context, s *Store, st statement, fields func(*K, *V) []any) (map[K]V, error) {
	all := map[K]V{}
	_, err := rows(ctx, s, st, func(r driver.Rows) (none struct{}, err error) {
		var key K
		var value V
		err = r.Scan(fields(&key, &value)...)
		all[key] = value
		return none, err
	})
	return all, err
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
	found, err := rows(ctx, s, render("credentials.sql", nil, p), into(func(c *Credentials) []any {
		return []any{(*uint64)(&c.Account), &c.PasswordHash, &c.Administrative, &c.Disabled}
	}))
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
	p, sc := visible(v, query.Selectors{Site: q.Site})
	p.text("after", string(q.After))
	p.uint("limit", uint64(q.Limit))
	return rows(ctx, s, render("sites.sql", sc, p), scanSite)
}

// SiteRecords implements query.Store.
func (s *Store) SiteRecords(ctx context.Context) ([]contracts.Site, error) {
	return rows(ctx, s, render("site_records.sql", nil, params{}), scanSite)
}

var scanSite = into(func(s *contracts.Site) []any {
	return []any{
		(*string)(&s.Site), &s.Name, (*string)(&s.SiteType), &s.CountryCode, (*string)(&s.CurrencyCode),
		&s.Operator, &s.CanonicalCountryMarket, &s.PriceComparisonMarket,
	}
})

// ofItems builds a statement of the enrichments, with the values they have in
// common.
func ofItems(file string, n shards, v query.Visibility, items []contracts.ItemID) statement {
	p, sc := visible(v, query.Selectors{})
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
		var prices []referencePrice
		rec := contracts.ReferencePrices{MandateID: v.Mandate}
		err := r.Scan((*uint64)(&rec.ItemID), &prices)
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
	return rows(ctx, s, ofItems("customer_data.sql", s.shards, v, items), into(func(c *contracts.CustomerData) []any {
		c.MandateID = v.Mandate
		return []any{(*uint64)(&c.ItemID), &c.Category, &c.Fields}
	}))
}

// CatalogueVersions implements query.Store.
func (s *Store) CatalogueVersions(ctx context.Context, v query.Visibility, include query.Include) (versions []uint64, err error) {
	p := params{}
	p.uint("mandate", uint64(v.Mandate))
	err = row(ctx, s, render("catalogue_versions.sql", include, p), &versions)
	return versions, err
}

// PairOrders implements query.Store.
func (s *Store) PairOrders(ctx context.Context, v query.Visibility, items []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	return byKey(ctx, s, ofItems("pair_orders.sql", s.shards, v, items), func(p *contracts.Pair, orders *[]contracts.OrderID) []any {
		return []any{(*uint64)(&p.Item), (*string)(&p.Site), (*ids[contracts.OrderID])(orders)}
	})
}

// LastProcessed implements query.Store.
func (s *Store) LastProcessed(ctx context.Context, v query.Visibility, items []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	return byKey(ctx, s, ofItems("last_processed.sql", s.shards, v, items), func(p *contracts.Pair, at *time.Time) []any {
		return []any{(*uint64)(&p.Item), (*string)(&p.Site), at}
	})
}

// ids scans an Array(UInt64), keys an Array(String).
type (
	ids[T ~uint64]  []T
	keys[T ~string] []T
)

func (l *ids[T]) Scan(column any) error {
	*l = make([]T, 0, len(column.([]uint64)))
	for _, id := range column.([]uint64) {
		*l = append(*l, T(id))
	}
	return nil
}

func (l *keys[T]) Scan(column any) error {
	*l = make([]T, 0, len(column.([]string)))
	for _, key := range column.([]string) {
		*l = append(*l, T(key))
	}
	return nil
}

var _ query.Store = (*Store)(nil)
