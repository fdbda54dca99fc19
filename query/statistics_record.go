package query

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"preismon/contracts"
)

// StatisticsPage is one page of statistics, by group and time.
type StatisticsPage = Records[StatisticRecord, StatisticsEcho]

// StatisticsEcho describes what the answer covers. It is the same on each page,
// except for the number of pairs now in the scope.
type StatisticsEcho struct {
	Scope        string   `json:"scope"`
	CapturedFrom string   `json:"capturedFrom"`
	CapturedTo   string   `json:"capturedTo"`
	Until        string   `json:"until"`
	Timezone     string   `json:"timezone"`
	By           Grouping `json:"by"`
	Bucket       string   `json:"bucket"`
	// Pairs are visible under the selectors; a brand hides none of them.
	// ObservedPairs are those of which something in the window is known.
	Pairs         uint64 `json:"pairs"`
	ObservedPairs uint64 `json:"observedPairs"`
}

func statisticsEcho(in *read, r StatisticsRequest, position statisticsCursor) StatisticsEcho {
	at := func(ms int64) string { return formatInstant(fromMs(ms), in.zone) }
	return StatisticsEcho{
		Scope: in.echo.Scope, CapturedFrom: at(position.From), CapturedTo: at(position.To), Until: at(position.Until), Timezone: in.echo.Timezone,
		By: r.By, Bucket: r.Bucket, Pairs: in.size.Pairs,
	}
}

// StatisticRecord is what was observed of a group in a part of the window. Of
// the four names of a group, only that of the grouping is set.
type StatisticRecord struct {
	ItemID       *contracts.ItemID  `json:"itemId"`
	Site         *string            `json:"site"`
	Merchant     *string            `json:"merchant"`
	Brand        *string            `json:"brand"`
	Identity     *StatisticIdentity `json:"identity,omitempty"`
	From         string             `json:"from" column:"instant"`
	To           string             `json:"to" column:"instant"` // exclusive
	Pairs        uint64             `json:"pairs"`
	Observations StatisticOutcomes  `json:"observations"`
	Changes      uint64             `json:"changes"`
	Seconds      StatisticSeconds   `json:"seconds"`
	ShareInStock *json.Number       `json:"shareInStock"` // percent of the known time
	BuyBox       []StatisticWinner  `json:"buyBox"`
	Prices       []StatisticPricing `json:"prices"`
}

// StatisticOutcomes counts captures by what they found.
type StatisticOutcomes struct {
	Priced      uint64 `json:"priced"`
	Unavailable uint64 `json:"unavailable"`
	NotFound    uint64 `json:"notFound"`
	Unknown     uint64 `json:"unknown"`
}

// StatisticSeconds is the time of all pairs of the record, by their state.
type StatisticSeconds struct {
	InStock     json.Number `json:"inStock"`
	OutOfStock  json.Number `json:"outOfStock"`
	Unknown     json.Number `json:"unknown"`
	NotObserved json.Number `json:"notObserved"`
}

// StatisticWinner is a merchant that held the buy box.
type StatisticWinner struct {
	Merchant *string     `json:"merchant"`
	Wins     uint64      `json:"wins"`
	Share    json.Number `json:"share"` // percent of all wins of the record
}

// StatisticPricing holds the prices in one currency.
type StatisticPricing struct {
	CurrencyCode        contracts.Currency `json:"currencyCode"`
	Count               uint64             `json:"count"`
	Min                 *json.Number       `json:"min"`
	P25                 *json.Number       `json:"p25"`
	Median              *json.Number       `json:"median"`
	P75                 *json.Number       `json:"p75"`
	Max                 *json.Number       `json:"max"`
	First               *json.Number       `json:"first"`
	Last                *json.Number       `json:"last"`
	TimeWeightedAverage *json.Number       `json:"timeWeightedAverage"`
	Seconds             json.Number        `json:"seconds"`

	Trend    []StatisticTrend   `json:"trend,omitempty"`
	Standing *StatisticStanding `json:"standing,omitempty"`
}

// record converts a statistic into its record.
func (st *Statistic) record(by Grouping, q *StatisticsQuery, zone *zoneFormat) StatisticRecord {
	from, to := q.Edges[st.Bucket-1], q.Edges[st.Bucket]
	rec := StatisticRecord{
		From: string(zone.append(nil, from)), To: string(zone.append(nil, to)), Pairs: st.Pairs, Changes: st.Changes,
		Observations: StatisticOutcomes{st.Priced, st.Unavailable, st.NotFound, st.Unknown},
		Seconds: StatisticSeconds{
			seconds(st.InMs), seconds(st.OutMs), seconds(st.UnknownMs),
			seconds(max(0, int64(st.Pairs)*(min(to, q.Until)-from)-st.InMs-st.OutMs-st.UnknownMs)),
		},
		ShareInStock: percent(st.InMs, st.InMs+st.OutMs), Prices: []StatisticPricing{},
	}
	switch by {
	case ByProduct:
		rec.ItemID = &st.Item
	case BySite:
		rec.Site = &st.Text
	case ByMerchant:
		rec.Merchant = &st.Text
	case ByBrand:
		rec.Brand = &st.Text
	}
	rec.BuyBox = winners(st.Wins)
	for _, p := range st.Prices {
		rec.Prices = append(rec.Prices, p.pricing())
		rec.Prices[len(rec.Prices)-1].Trend = p.trend(q.TrendEdges, zone)
	}
	return rec
}

// winners lists who held the buy box, most often first.
func winners(wins []Wins) []StatisticWinner {
	found := make([]StatisticWinner, 0, len(wins))
	all := uint64(0)
	for _, w := range wins {
		all += w.Wins
	}
	often := slices.SortedFunc(slices.Values(wins), func(a, b Wins) int { return cmp.Or(cmp.Compare(b.Wins, a.Wins), cmp.Compare(a.Merchant, b.Merchant)) })
	for _, w := range often {
		found = append(found, StatisticWinner{Merchant: orNull(w.Merchant), Wins: w.Wins, Share: *percent(int64(w.Wins), int64(all))})
	}
	return found
}

func (p *PriceStatistic) pricing() StatisticPricing {
	out := StatisticPricing{CurrencyCode: p.Currency, Count: p.Count, Seconds: seconds(p.HeldMs), TimeWeightedAverage: averageOf(p.Weighted, p.HeldMs, p.Currency)}
	if p.Count == 0 { // seen before the part and carried into it
		return out
	}
	for to, amount := range map[**json.Number]int64{
		&out.Min: p.Min, &out.P25: p.P25, &out.Median: p.Median, &out.P75: p.P75, &out.Max: p.Max, &out.First: p.First, &out.Last: p.Last,
	} {
		*to = new(decimal(amount, p.Currency))
	}
	return out
}

// seconds converts milliseconds.
func seconds(ms int64) json.Number { return json.Number(contracts.AppendMinor(nil, ms, 3)) }

// averageDigits is how many more digits an average has than its currency.
const averageDigits = 2

// averageOf is a sum of amounts times milliseconds, divided by milliseconds,
// rounded half away from zero; nil: no time.
func averageOf(sum *big.Int, ms int64, currency contracts.Currency) *json.Number {
	if ms <= 0 {
		return nil
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(currency.Digits())), nil)
	average := new(big.Rat).SetFrac(sum, scale.Mul(scale, big.NewInt(ms)))
	return new(json.Number(average.FloatString(currency.Digits() + averageDigits)))
}

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
