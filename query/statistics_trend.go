package query

import (
	"encoding/json"
	"maps"
	"slices"
)

// trendParts is the number of equal parts of the window in a trend.
const trendParts = 24

// trendBytes is roughly what the parts of a trend take per product.
const trendBytes = trendParts * 400

// StatisticTrend is a part of the window in which a price was observed.
type StatisticTrend struct {
	From   string      `json:"from" column:"instant"`
	Median json.Number `json:"median"`
}

// trendEdges returns where the parts of a window begin, and where it ends; ms.
// A window of few milliseconds has fewer parts.
func trendEdges(from, end int64) (edges []int64) {
	for i := range int64(trendParts + 1) {
		edges = append(edges, from+(end-from)*i/trendParts)
	}
	return slices.Compact(edges)
}

// trend returns the parts in which a price was observed.
func (p *PriceStatistic) trend(edges []int64, zone *zoneFormat) (all []StatisticTrend) {
	for _, part := range slices.Sorted(maps.Keys(p.Trend)) {
		all = append(all, StatisticTrend{string(zone.append(nil, edges[part-1])), decimal(p.Trend[part], p.Currency)})
	}
	return all
}
