package projector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// recordTable collects rows of a table as columns.
type recordTable struct {
	name    string   // as in insert_<name>.sql
	columns []string // their names
	in      proto.Input
	put     []func(any) // a value into each column
	rows    int
}

// add appends a row; the values are in the order of the columns. Those of the
// first row determine the types of the columns.
func (t *recordTable) add(values ...any) {
	for i, v := range values {
		if i == len(t.in) {
			c, put := columnFor(v)
			t.in, t.put = append(t.in, proto.InputColumn{Name: t.columns[i], Data: c}), append(t.put, put)
		}
		t.put[i](v)
	}
	t.rows++
}

// columnFor returns an empty column for values of the type of v, and what puts
// them into it.
func columnFor(v any) (proto.ColInput, func(any)) {
	switch v.(type) {
	case bool:
		return column(new(proto.ColBool))
	case uint8:
		return column(new(proto.ColUInt8))
	case uint16:
		return column(new(proto.ColUInt16))
	case uint32:
		return column(new(proto.ColUInt32))
	case uint64:
		return column(new(proto.ColUInt64))
	case int64:
		return column(new(proto.ColInt64))
	case string:
		return column(new(proto.ColStr))
	case uuid.UUID:
		return column(new(proto.ColUUID))
	case []uint64:
		return column(new(proto.ColUInt64).Array())
	case []int64:
		return column(new(proto.ColInt64).Array())
	case []string:
		return column(new(proto.ColStr).Array())
	}
	panic(fmt.Sprintf("projector: no column for %T", v))
}

func column[T any](c proto.ColumnOf[T]) (proto.ColInput, func(any)) {
	return c, func(v any) { c.Append(v.(T)) }
}

// catalogTables are the catalogue's tables in the order in which they are
// written: records come after those that they refer to.
var catalogTables = []string{
	"sites", "items", "mandates", "accounts", "orders", "reference_prices", "customer_data", "file_jobs", "file_archives",
}

// catalogColumns are the columns of insert_<name>.sql.
var catalogColumns = map[string][]string{
	"sites":    {"site", "name", "site_type", "country_code", "currency", "operator", "canonical_country_market", "price_comparison_market", "version"},
	"items":    {"item", "ean", "pzn", "asin", "asin_locale", "name", "brand", "manufacturer", "version"},
	"mandates": {"mandate", "name", "package_name", "max_items", "version"},
	"accounts": {"account", "mandate", "login_identifier", "password_hash", "administrative", "disabled", "permissions", "all_orders", "orders", "all_sites", "sites", "version"},
	"orders": {
		"mandate", "order_id", "alias", "name", "active", "created_ms", "items", "sites", "interval_minutes", "last_run_ms", "next_run_ms", "counter_sites", "configured", "expected", "processed",
		"legacy", "members", "member_sites", "version",
	},
	"reference_prices": {"mandate", "item", "amounts", "currencies", "sites", "quantities", "types", "version"},
	"customer_data":    {"mandate", "item", "category", "names", "texts", "version"},
	"file_jobs":        {"mandate", "direction", "order_id", "file_job", "name", "created_ms", "version"},
	"file_archives":    {"mandate", "direction", "order_id", "archive", "file_job", "archived_ms", "names", "filenames", "sizes", "hashes", "version"},
}

// Directions of files, as stored in the tables.
const (
	directionExport uint8 = 1
	directionImport uint8 = 2
)

// addRecord appends the event's record to its table.
func addRecord(tables map[string]*recordTable, e *event.Event, version uint64) error {
	to := func(name string, values ...any) {
		t, ok := tables[name]
		if !ok {
			t = &recordTable{name: name, columns: catalogColumns[name]}
			tables[name] = t
		}
		t.add(values...)
	}
	direction := directionExport
	if e.Kind == event.KindImport || e.Kind == event.KindImportArchive {
		direction = directionImport
	}
	switch d := e.Data.(type) {
	case *contracts.Site:
		to("sites", string(d.Site), d.Name, string(d.SiteType), d.CountryCode, string(d.CurrencyCode), d.Operator,
			d.CanonicalCountryMarket, d.PriceComparisonMarket, version)
	case *contracts.Item:
		to("items", uint64(d.ItemID), d.EAN, d.PZN, d.ASIN, d.ASINLocale, d.Name, composed(d.Brand), composed(d.Manufacturer), version)
	case *contracts.Mandate:
		to("mandates", uint64(d.MandateID), d.Name, d.Package.Name, uint64(d.Package.MaxItems), version)
	case *contracts.Account:
		to("accounts", uint64(d.AccountID), uint64(d.MandateID), composed(d.LoginIdentifier), d.PasswordHash, d.Administrative, d.Disabled,
			texts(d.Permissions), d.Scope.AllOrders, numbers(d.Scope.Orders), d.Scope.AllSites, texts(d.Scope.Sites), version)
	case *contracts.Order:
		addOrder(to, d, version)
	case *contracts.ReferencePrices:
		to("reference_prices", uint64(d.MandateID), uint64(d.ItemID),
			of(d.Prices, func(p contracts.ReferencePrice) int64 { return p.AmountMinor }),
			of(d.Prices, func(p contracts.ReferencePrice) string { return string(p.CurrencyCode) }),
			of(d.Prices, func(p contracts.ReferencePrice) string { return string(p.AppliesToSite) }),
			of(d.Prices, func(p contracts.ReferencePrice) string { return p.ReferenceQuantity }),
			of(d.Prices, func(p contracts.ReferencePrice) string { return p.PriceType }), version)
	case *contracts.CustomerData:
		names := slices.Sorted(maps.Keys(d.Fields))
		values := of(names, func(name string) string { return d.Fields[name] })
		to("customer_data", uint64(d.MandateID), uint64(d.ItemID), composed(d.Category), names, values, version)
	case *contracts.FileJob:
		to("file_jobs", uint64(d.MandateID), direction, uint64(d.OrderID), uint64(d.FileJobID), composed(d.Name), d.CreatedAt.UnixMilli(), version)
	case *contracts.FileArchive:
		to("file_archives", uint64(d.MandateID), direction, uint64(d.OrderID), uint64(d.ArchiveID), uint64(d.FileJobID), d.ArchivedAt.UnixMilli(),
			of(d.Files, func(f contracts.ArchivedFile) string { return composed(f.Name) }),
			of(d.Files, func(f contracts.ArchivedFile) string { return f.Filename }),
			of(d.Files, func(f contracts.ArchivedFile) int64 { return f.SizeBytes }),
			of(d.Files, func(f contracts.ArchivedFile) string { return f.SHA256 }), version)
	default:
		return fmt.Errorf("a %s in the catalogue", e.Kind)
	}
	return nil
}

func addOrder(to func(string, ...any), d *contracts.Order, version uint64) {
	var interval uint64
	var last, next []int64
	if s := d.Schedule; s != nil {
		interval = uint64(s.IntervalMinutes)
		if s.LastRunAt != nil {
			last = []int64{s.LastRunAt.UnixMilli()}
		}
		if s.NextRunAt != nil {
			next = []int64{s.NextRunAt.UnixMilli()}
		}
	}
	to("orders", uint64(d.MandateID), uint64(d.OrderID), composed(d.Alias), d.Name, d.Active, d.CreatedAt.UnixMilli(), numbers(d.Items),
		texts(d.Sites), interval, last, next,
		of(d.Counters, func(c contracts.SiteCounters) string { return string(c.Site) }),
		of(d.Counters, func(c contracts.SiteCounters) uint64 { return uint64(c.ConfiguredObservations) }),
		of(d.Counters, func(c contracts.SiteCounters) uint64 { return uint64(c.ExpectedProcessedByNow) }),
		of(d.Counters, func(c contracts.SiteCounters) uint64 { return uint64(c.ProcessedObservations) }), d.Legacy,
		of(d.Memberships, func(m contracts.Membership) uint64 { return uint64(m.ItemID) }),
		of(d.Memberships, func(m contracts.Membership) string { return m.Sites }), version)
}

func texts[T ~string](list []T) []string {
	return of(list, func(v T) string { return string(v) })
}

func numbers[T ~uint64](list []T) []uint64 {
	return of(list, func(v T) uint64 { return uint64(v) })
}

// of returns one value of each element of a list.
func of[T, V any](list []T, value func(T) V) []V {
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = value(v)
	}
	return out
}
