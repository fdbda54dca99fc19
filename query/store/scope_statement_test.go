package store

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// TestScopeStatements shows the SQL and the values of the reads of orders, items,
// scopes, files, statistics and summaries, for accounts that see all of their
// mandate and for others.
func TestScopeStatements(t *testing.T) {
	of := func(s contracts.AccountScope, versions ...uint64) query.Visibility {
		return query.Visibility{Mandate: 7, Versions: versions, Scope: s}
	}
	all, two := contracts.AccountScope{AllOrders: true, AllSites: true}, []contracts.OrderID{1, 2}
	whole, several := of(all, 3), of(all, 3, 4, 5)
	narrow := of(contracts.AccountScope{Orders: two, Sites: []contracts.SiteKey{"a.example", "b.example"}}, 3)
	someOrders := of(contracts.AccountScope{Orders: two, AllSites: true}, 3)
	someSites := of(contracts.AccountScope{AllOrders: true, Sites: []contracts.SiteKey{"a.example"}}, 3)
	applied, shards := whole, of(all, 21, 22, 23)
	applied.Applied, shards.Applied = true, true

	orders := []contracts.OrderID{2, 9}
	exports, imports := query.FilesOf{Direction: query.Exports, OrderID: 2}, query.FilesOf{Direction: query.Imports, OrderID: 2}
	window := func(from, to int64) contracts.Window {
		return contracts.Window{From: time.UnixMilli(from), To: time.UnixMilli(to)}
	}
	rows := query.ResultsQuery{Window: window(100_000_000, 200_000_000), Watermark: query.Watermark{Epoch: 5, Seq: 99}}
	q := query.StatisticsQuery{Rows: rows, By: query.ByProduct, Edges: []int64{100_000_000, 172_800_000, 200_000_001}, Until: 200_000_001, Limit: 12}
	merchants, brands, trend := q, q, q
	trend.TrendEdges = []int64{100_000_000, 150_000_000, 200_000_001}
	merchants.By, merchants.Rows.Selectors.EAN, merchants.After = query.ByMerchant, "4006381333931", query.StatisticPosition{Text: "it's", Bucket: 2}
	brands.By, brands.Rows.Brand = query.ByBrand, "B"
	tally := rows
	tally.Limit, tally.Export, tally.Merchant = 12, true, "it's"

	for name, st := range map[string]statement{
		"orders_whole":             ordersStatement(whole, query.OrdersQuery{After: 4, Limit: 101}),
		"orders_narrow":            ordersStatement(narrow, query.OrdersQuery{OrderID: 2, Alias: "it's\t\\N", Limit: 101}),
		"order_scope_whole":        orderScope(whole, orders, 10_001),
		"order_scope_narrow":       orderScope(narrow, orders, 10_001),
		"order_sites_narrow":       orderSites(narrow, orders, 10_001),
		"order_pairs_whole":        orderPairs(1, whole, query.OrderPairsQuery{Orders: orders, Limit: 10_000}),
		"order_pairs_narrow":       orderPairs(1, narrow, query.OrderPairsQuery{Orders: orders[:1], Site: "b.example", After: contracts.Pair{Item: 5, Site: "a.example"}, Limit: 11}),
		"order_pairs_shards":       orderPairs(3, several, query.OrderPairsQuery{Orders: orders, Limit: 10_000}),
		"memberships_narrow":       memberships(narrow, orders, []contracts.ItemID{5, 6}),
		"item_candidates":          itemCandidates(narrow, query.ItemsQuery{EAN: "96385074", ASIN: "B000000001", ASINLocale: "de", After: 8, Limit: 2_001}),
		"item_candidates_category": itemCandidates(narrow, query.ItemsQuery{ASINLocale: "de", Category: "it's", After: 8, Limit: 2_001}),
		"categories_narrow":        categories(narrow, query.CategoriesQuery{Limit: 1_001}),
		"categories_one":           categories(whole, query.CategoriesQuery{Category: "Garden", Limit: 1}),
		"items_of_narrow":          itemsOf(narrow, []contracts.ItemID{9, 10}, 101),

		"pairs_by_site_whole":  pairsBySite(whole, query.Selectors{}),
		"pairs_by_site_narrow": pairsBySite(narrow, query.Selectors{Order: 2, EAN: "96385074", Site: "it's"}),
		"scope_items_narrow":   scopeItems(narrow, query.Selectors{Order: 2, ASIN: "B000000001", ASINLocale: "de"}, 61),
		"items_named_narrow": itemsNamed(narrow, query.ItemNames{
			EANs: []string{"96385074", "0000096385074"}, PZNs: []string{"12345678"}, ASINs: [][2]string{{"B000000001", "de"}}, Items: []contracts.ItemID{5, 6},
		}),

		"file_jobs":            fileJobs(whole, query.FileJobsQuery{FilesOf: imports, Limit: 101}),
		"file_jobs_named":      fileJobs(someOrders, query.FileJobsQuery{FilesOf: exports, Name: "it's\t\\", After: 5, Through: 99, Limit: 101}),
		"file_jobs_through":    fileJobsThrough(someOrders, query.FileJobsQuery{FilesOf: exports, After: 5}, 10_000),
		"sees_whole_order":     seesWholeOrder(someSites, 2),
		"count_files":          countFiles(someOrders, exports, 1_001),
		"count_files_of":       countFilesOf(someOrders, []contracts.OrderID{2, 1}, 1_001),
		"newest_files":         newestFiles(someOrders, []contracts.OrderID{2, 1}, 5, 10_001),
		"file_entries":         fileEntries(whole, query.FileEntriesQuery{FilesOf: imports, Limit: 1}),
		"file_entries_filters": fileEntries(someOrders, query.FileEntriesQuery{FilesOf: exports, Window: window(1_000_000, 2_000_000), ExportName: "E", Name: "it's\t\\", After: &query.FilePosition{ArchivedMs: 1_500_000, Archive: 8, File: 0}, Limit: 101}),

		"statistics":              statisticsStatement(1, applied, &q, false),
		"statistics_trend":        statisticsStatement(1, applied, &trend, false),
		"statistics_merchants":    statisticsStatement(1, applied, &merchants, false),
		"statistics_shards":       statisticsStatement(3, shards, &brands, false),
		"tally":                   wholeStatement("tally.sql", 1, applied, &tally, false),
		"tally_shards":            wholeStatement("tally.sql", 3, shards, &tally, false),
		"observed_by_site":        wholeStatement("observed_by_site.sql", 1, applied, &tally, false),
		"observed_by_site_shards": wholeStatement("observed_by_site.sql", 3, shards, &tally, true),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}
