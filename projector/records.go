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
		n := uint64(0)
		switch list := v.(type) {
		case []uint64:
			n = appendAll(c.of.(*proto.ColUInt64), list)
		case []int64:
			n = appendAll(c.of.(*proto.ColInt64), list)
		case []string:
			n = appendAll(c.of.(*proto.ColStr), list)
		default:
			panic(fmt.Sprintf("projector: no column for %T", v))
		}
		c.ends.Append(n)
	default:
		panic(fmt.Sprintf("projector: no column %T", to))
	}
}

// appendAll appends the values and returns the resulting number of values.
func appendAll[T any](to proto.ColumnOf[T], values []T) uint64 {
	for _, v := range values {
		to.Append(v)
	}
	return uint64(to.Rows())
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
		var amounts []int64
		var currencies, sites, quantities, types []string
		for _, p := range d.Prices {
			amounts = append(amounts, p.AmountMinor)
			currencies = append(currencies, string(p.CurrencyCode))
			sites = append(sites, string(p.AppliesToSite))
			quantities = append(quantities, p.ReferenceQuantity)
			types = append(types, p.PriceType)
		}
		to("reference_prices", uint64(d.MandateID), uint64(d.ItemID), amounts, currencies, sites, quantities, types, version)
	case *contracts.CustomerData:
		names := slices.Sorted(maps.Keys(d.Fields))
		values := make([]string, 0, len(names))
		for _, n := range names {
			values = append(values, d.Fields[n])
		}
		to("customer_data", uint64(d.MandateID), uint64(d.ItemID), composed(d.Category), names, values, version)
	case *contracts.FileJob:
		to("file_jobs", uint64(d.MandateID), direction, uint64(d.OrderID), uint64(d.FileJobID), composed(d.Name), d.CreatedAt.UnixMilli(), version)
	case *contracts.FileArchive:
		var names, filenames, hashes []string
		var sizes []int64
		for _, f := range d.Files {
			names = append(names, f.Name)
			filenames = append(filenames, f.Filename)
			sizes = append(sizes, f.SizeBytes)
			hashes = append(hashes, f.SHA256)
		}
		to("file_archives", uint64(d.MandateID), direction, uint64(d.OrderID), uint64(d.ArchiveID), uint64(d.FileJobID),
			d.ArchivedAt.UnixMilli(), allComposed(names), filenames, sizes, hashes, version)
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
	var sites []string
	var configured, expected, processed []uint64
	for _, c := range d.Counters {
		sites = append(sites, string(c.Site))
		configured = append(configured, uint64(c.ConfiguredObservations))
		expected = append(expected, uint64(c.ExpectedProcessedByNow))
		processed = append(processed, uint64(c.ProcessedObservations))
	}
	var members []uint64
	var memberSites []string
	for _, m := range d.Memberships {
		members = append(members, uint64(m.ItemID))
		memberSites = append(memberSites, m.Sites)
	}
	to("orders", uint64(d.MandateID), uint64(d.OrderID), composed(d.Alias), d.Name, d.Active, d.CreatedAt.UnixMilli(), numbers(d.Items),
		texts(d.Sites), interval, last, next, sites, configured, expected, processed,
		d.Legacy, members, memberSites, version)
}

func texts[T ~string](list []T) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

func numbers[T ~uint64](list []T) []uint64 {
	out := make([]uint64, 0, len(list))
	for _, v := range list {
		out = append(out, uint64(v))
	}
	return out
}
