package projector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/contracts/event"
)

// recordTable collects records of one catalogue table as columns.
type recordTable struct {
	in   proto.Input
	rows int
}

// add appends a row; the values are in the order of the columns.
func (t *recordTable) add(values ...any) {
	for i, v := range values {
		appendValue(t.in[i].Data, v)
	}
	t.rows++
}

func appendValue(to proto.ColInput, v any) {
	switch c := to.(type) {
	case *proto.ColUInt64:
		c.Append(v.(uint64))
	case *proto.ColInt64:
		c.Append(v.(int64))
	case *proto.ColUInt8:
		c.Append(v.(uint8))
	case *proto.ColBool:
		c.Append(v.(bool))
	case *proto.ColStr:
		c.Append(v.(string))
	case array:
		switch list := v.(type) {
		case []uint64:
			c.of.(*proto.ColUInt64).AppendArr(list)
		case []int64:
			c.of.(*proto.ColInt64).AppendArr(list)
		case []string:
			c.of.(*proto.ColStr).AppendArr(list)
		default:
			panic(fmt.Sprintf("projector: no column for %T", v))
		}
		c.ends.Append(uint64(c.of.Rows()))
	default:
		panic(fmt.Sprintf("projector: no column %T", to))
	}
}

func listOf(c proto.ColInput) array { return array{new(proto.ColUInt64), c} }

// newRecordTable creates columns by the letters of types: u UInt64, i Int64, e
// UInt8, b Bool, s String; in upper case an array of them.
func newRecordTable(types string, names ...string) *recordTable {
	t := &recordTable{}
	for i, name := range names {
		var c proto.ColInput
		switch types[i] {
		case 'u':
			c = new(proto.ColUInt64)
		case 'i':
			c = new(proto.ColInt64)
		case 'e':
			c = new(proto.ColUInt8)
		case 'b':
			c = new(proto.ColBool)
		case 's':
			c = new(proto.ColStr)
		case 'U':
			c = listOf(new(proto.ColUInt64))
		case 'I':
			c = listOf(new(proto.ColInt64))
		case 'S':
			c = listOf(new(proto.ColStr))
		}
		t.in = append(t.in, proto.InputColumn{Name: name, Data: c})
	}
	return t
}

// catalogTables are the catalogue's tables in the order in which they are
// written: records come after those that they refer to.
var catalogTables = []string{
	"sites", "items", "mandates", "accounts", "orders", "reference_prices", "customer_data", "file_jobs", "file_archives",
}

// tableOf creates the empty columns of insert_<name>.sql.
func tableOf(name string) *recordTable {
	switch name {
	case "sites":
		return newRecordTable("ssssssbbu", "site", "name", "site_type", "country_code", "currency", "operator", "canonical_country_market", "price_comparison_market", "version")
	case "items":
		return newRecordTable("usssssssu", "item", "ean", "pzn", "asin", "asin_locale", "name", "brand", "manufacturer", "version")
	case "mandates":
		return newRecordTable("ussuu", "mandate", "name", "package_name", "max_items", "version")
	case "accounts":
		return newRecordTable("uussbbSbUbSu", "account", "mandate", "login_identifier", "password_hash", "administrative", "disabled", "permissions", "all_orders", "orders", "all_sites", "sites", "version")
	case "orders":
		return newRecordTable("uussbiUSuIISUUUbUSu", "mandate", "order_id", "alias", "name", "active", "created_ms", "items", "sites", "interval_minutes", "last_run_ms", "next_run_ms", "counter_sites", "configured", "expected", "processed",
			"legacy", "members", "member_sites", "version")
	case "reference_prices":
		return newRecordTable("uuISSSSu", "mandate", "item", "amounts", "currencies", "sites", "quantities", "types", "version")
	case "customer_data":
		return newRecordTable("uusSSu", "mandate", "item", "category", "names", "texts", "version")
	case "file_jobs":
		return newRecordTable("ueuusiu", "mandate", "direction", "order_id", "file_job", "name", "created_ms", "version")
	case "file_archives":
		return newRecordTable("ueuuuiSSISu", "mandate", "direction", "order_id", "archive", "file_job", "archived_ms", "names", "filenames", "sizes", "hashes", "version")
	}
	panic("projector: no catalogue table " + name)
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
			t = tableOf(name)
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
