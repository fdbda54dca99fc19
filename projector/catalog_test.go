package projector_test

import (
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// TestCatalogRows reads every kind of record back, and its subject.
func TestCatalogRows(t *testing.T) {
	w := newWorld(t)
	odd := "tab\t quote' back\\slash \\N\nline"
	run := start.Add(time.Hour)
	records := w.catalog(
		&contracts.Site{Site: "a.example", Name: odd, SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR", Operator: "op", CanonicalCountryMarket: true},
		&contracts.Item{ItemID: 7, EAN: "4006381333931", Name: odd, Brand: "b", Manufacturer: "m"},
		mandate(1, 5),
		&contracts.Account{
			AccountID: 3, MandateID: 1, LoginIdentifier: "x@example", PasswordHash: "$argon2id$", Permissions: contracts.Permissions()[:2],
			Scope: contracts.AccountScope{Orders: []contracts.OrderID{1, 2}, AllSites: true},
		},
		&contracts.Order{
			OrderID: 1, MandateID: 1, Alias: "al", Name: odd, Active: true, CreatedAt: start, Items: []contracts.ItemID{7, 8}, Sites: []contracts.SiteKey{"a.example"},
			Schedule: &contracts.Schedule{IntervalMinutes: 60, LastRunAt: &run}, Counters: []contracts.SiteCounters{{Site: "a.example", ConfiguredObservations: 3, ExpectedProcessedByNow: 2, ProcessedObservations: 1}},
			Legacy: true, Memberships: []contracts.Membership{{ItemID: 7, Sites: odd}, {ItemID: 8}},
		},
		&contracts.ReferencePrices{MandateID: 1, ItemID: 7, Prices: []contracts.ReferencePrice{{AmountMinor: 1234, CurrencyCode: "EUR"}, {AmountMinor: 5, CurrencyCode: "JPY", AppliesToSite: "a.example", ReferenceQuantity: "1", PriceType: "rrp"}}},
		&contracts.CustomerData{MandateID: 1, ItemID: 7, Category: "c", Fields: map[string]string{"k": odd, "a": "b"}},
		&contracts.FileJob{FileJobID: 4, MandateID: 1, OrderID: 1, Name: "job", CreatedAt: start},
		&contracts.FileArchive{ArchiveID: 5, FileJobID: 4, MandateID: 1, OrderID: 1, ArchivedAt: start, Files: []contracts.ArchivedFile{{Name: "n", Filename: "f.csv", SizeBytes: 9, SHA256: "00"}}},
	)
	w.apply(records)
	version := func(seq string) string { return "toUInt64(1700000000) * 4294967296 + " + seq }
	for q, want := range map[string]string{
		"SELECT toString(tuple(site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market)) FROM sites FINAL WHERE version = " + version("1"): `('a.example','tab\t quote\' back\\slash \\N\nline','marketplace','DE','EUR','op',true,false)`,
		"SELECT toString(tuple(item, ean, pzn, asin, asin_locale, brand, manufacturer)) FROM items FINAL WHERE version = " + version("2"):                                                     `(7,'4006381333931','','','','b','m')`,
		"SELECT toString(tuple(mandate, name, package_name, max_items)) FROM mandates FINAL":                                                                                                  `(1,'mandate 1','p',5)`,
		"SELECT toString(tuple(account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites)) FROM accounts FINAL":          `(3,1,'x@example','$argon2id$',false,false,['sites','items'],false,[1,2],true,[])`,
		"SELECT toString(tuple(mandate, order_id, alias, active, created_at, items, sites, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships)) FROM orders FINAL":     `(1,1,'al',true,'2026-11-01 00:00:00.000',[7,8],['a.example'],60,'2026-11-01 01:00:00.000',NULL,[('a.example',3,2,1)],true,[(7,'tab\t quote\' back\\slash \\N\nline'),(8,'')])`,
		"SELECT toString(tuple(mandate, item, prices)) FROM reference_prices FINAL":                                                                                                           `(1,7,[(1234,'EUR','','',''),(5,'JPY','a.example','1','rrp')])`,
		"SELECT toString(tuple(mandate, item, category, fields['a'], length(fields))) FROM customer_data FINAL":                                                                               `(1,7,'c','b',2)`,
		"SELECT toString(tuple(mandate, direction, order_id, file_job, name, created_at)) FROM file_jobs FINAL":                                                                               `(1,'import',1,4,'job','2026-11-01 00:00:00.000')`,
		"SELECT toString(tuple(mandate, direction, order_id, archive, file_job, archived_at, files)) FROM file_archives":                                                                      `(1,'export',1,5,4,'2026-11-01 00:00:00.000',[('n','f.csv',9,'00')])`,
	} {
		var got string
		w.scan(q, nil, &got)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", q, got, want)
		}
	}

	files := w.catalog(
		&contracts.FileJob{FileJobID: 6, MandateID: 1, OrderID: 1, Name: "job", CreatedAt: start},
		&contracts.FileArchive{ArchiveID: 7, FileJobID: 6, MandateID: 1, OrderID: 1, ArchivedAt: start},
	)
	files.Messages[0].Event.Kind, files.Messages[1].Event.Kind = event.KindExport, event.KindImportArchive
	w.apply(files)
	want := map[uint64]string{}
	for _, m := range slices.Concat(records.Messages, files.Messages) {
		want[m.Seq] = m.Event.Subject()
	}
	got := must.Get(w.p.Taken(t.Context(), event.StreamCatalog, epoch, 1, 100))(t)
	diff(t, "subjects", want, got)
	got = must.Get(w.p.Taken(t.Context(), event.StreamCatalog, epoch, 2, 3))(t)
	diff(t, "subjects of a range", map[uint64]string{2: "catalog.item.7", 3: "catalog.mandate.1"}, got)
}
