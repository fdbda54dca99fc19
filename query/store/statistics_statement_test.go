package store

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// TestStatisticsStatements shows the SQL and the values of statistics.
func TestStatisticsStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	several := whole
	several.Versions = []uint64{21, 22, 23}
	rows := query.ResultsQuery{Window: contracts.Window{From: time.UnixMilli(100_000_000), To: time.UnixMilli(200_000_000)}, Watermark: query.Watermark{Epoch: 5, Seq: 99}}
	q := query.StatisticsQuery{Rows: rows, By: query.ByProduct, Edges: []int64{100_000_000, 172_800_000, 200_000_001}, Until: 200_000_001, Limit: 12}
	merchants, brands, trend := q, q, q
	trend.TrendEdges = []int64{100_000_000, 150_000_000, 200_000_001}
	merchants.By, merchants.Rows.Selectors.EAN, merchants.After = query.ByMerchant, "4006381333931", query.StatisticPlace{Text: "it's", Bucket: 2}
	brands.By, brands.Rows.Brand = query.ByBrand, "B"
	for name, st := range map[string]statement{
		"statistics":           statisticsStatement(1, whole, &q, false),
		"statistics_trend":     statisticsStatement(1, whole, &trend, false),
		"statistics_merchants": statisticsStatement(1, whole, &merchants, false),
		"statistics_shards":    statisticsStatement(3, several, &brands, false),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}

// TestTallyStatements shows the SQL and the values of summaries.
func TestTallyStatements(t *testing.T) {
	whole := query.Visibility{Mandate: 7, Versions: []uint64{3}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	several := whole
	several.Versions = []uint64{21, 22, 23}
	q := query.ResultsQuery{Window: contracts.Window{From: time.UnixMilli(100_000_000), To: time.UnixMilli(200_000_000)}, Watermark: query.Watermark{Epoch: 5, Seq: 99}, Limit: 12, Export: true, Filters: query.Filters{Merchant: "it's"}}
	for name, st := range map[string]statement{
		"tally":                   wholeStatement("tally.sql", 1, whole, &q, false),
		"tally_shards":            wholeStatement("tally.sql", 3, several, &q, false),
		"observed_by_site":        wholeStatement("observed_by_site.sql", 1, whole, &q, false),
		"observed_by_site_shards": wholeStatement("observed_by_site.sql", 3, several, &q, true),
	} {
		t.Run(name, func(t *testing.T) { goldenStatement(t, name, st) })
	}
}
