package store_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// statistics follows the cursors of statistics to their end.
func (w *world) statistics(t require, a contracts.AccountID, r query.StatisticsRequest) (all []query.StatisticRecord, echo query.StatisticsEcho) {
	for {
		p, err := w.service.Statistics(w.t.Context(), query.Principal{Account: a}, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if echo != (query.StatisticsEcho{}) && p.Query != echo {
			t.Fatalf("another page says %+v, the first %+v", p.Query, echo)
		}
		all, echo = append(all, p.Data...), p.Query
		if p.Paging.NextCursor == "" {
			return all, echo
		}
		r.Cursor = p.Paging.NextCursor
	}
}

// sums are the totals of one group in one part of a window.
type sums struct {
	pairs                                  map[contracts.Pair]bool
	priced, unavailable, notFound, unknown uint64
	changes                                uint64
	in, out, unsure, restricted            int64 // restricted is part of unsure
	wins                                   map[string]uint64
	prices                                 map[string][]obsRow
	held                                   map[string]map[int64]int64 // ms by price by currency
}

// stateOfRow returns what a row shows, and its price if it has one.
func stateOfRow(r obsRow) (state, currency string, price int64) {
	state = coverage(r)
	if state == "PRICE_OBSERVED" {
		return state, cmp.Or(r.currency, "EUR"), r.price
	}
	return state, "", r.price
}

// addUp looks at every row: pair by pair, capture by capture, part by part.
func (w *world) addUp(a contracts.AccountID, r query.StatisticsRequest, from, until int64, edges []int64) map[string]*sums {
	captures := map[contracts.Pair][][]obsRow{}
	rows := slices.DeleteFunc(slices.Clone(w.rows), func(row obsRow) bool {
		p := row.pair()
		return row.ms < from-24*time.Hour.Milliseconds() || row.ms > edges[len(edges)-1]-1 || row.seq > w.mark || !w.sees(a, p) ||
			r.Site != "" && p.Site != r.Site || r.OrderID != 0 && !slices.Contains(w.visibleOrders(a, p), r.OrderID) ||
			r.ItemID != 0 && p.Item != r.ItemID || r.EAN != "" && !slices.Contains(itemEANs[r.EAN], row.item) || r.Brand != "" && itemBrands[row.item] != r.Brand
	})
	slices.SortFunc(rows, func(a, b obsRow) int {
		return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture), cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site), cmp.Compare(a.offer, b.offer))
	})
	for _, row := range rows {
		p := row.pair()
		all := captures[p]
		if n := len(all); n > 0 && all[n-1][0].ms == row.ms && all[n-1][0].seq == row.seq && all[n-1][0].capture == row.capture {
			all[n-1] = append(all[n-1], row)
			continue
		}
		captures[p] = append(all, []obsRow{row})
	}
	// chosen returns the offers of a capture that count, by merchant if
	// requested.
	chosen := func(offers []obsRow) map[string]obsRow {
		best := map[string]obsRow{}
		for _, o := range offers {
			key := ""
			if r.By == query.ByMerchant {
				key = o.merchant
			}
			if old, ok := best[key]; !ok || stands(o, old) {
				best[key] = o
			}
		}
		return best
	}
	found := map[string]*sums{}
	of := func(p contracts.Pair, merchant string, bucket int) *sums {
		group := map[query.Grouping]string{query.ByProduct: fmt.Sprintf("%020d", p.Item), query.BySite: string(p.Site), query.ByMerchant: merchant, query.ByBrand: itemBrands[p.Item]}[r.By]
		key := fmt.Sprintf("%s\x00%05d", group, bucket)
		if found[key] == nil {
			found[key] = &sums{pairs: map[contracts.Pair]bool{}, wins: map[string]uint64{}, prices: map[string][]obsRow{}, held: map[string]map[int64]int64{}}
		}
		return found[key]
	}
	for p, all := range captures {
		for i, offers := range all {
			next := until
			if i+1 < len(all) {
				next = all[i+1][0].ms
			}
			ms := offers[0].ms
			if ms >= until {
				continue
			}
			end := min(next, ms+24*time.Hour.Milliseconds(), until)
			for key, o := range chosen(offers) {
				state, currency, price := stateOfRow(o)
				for b := range len(edges) - 1 {
					held := max(0, min(end, edges[b+1])-max(ms, edges[b]))
					observed := ms >= from && ms >= edges[b] && ms < edges[b+1]
					if !observed && held == 0 {
						continue
					}
					s := of(p, o.merchant, b)
					s.pairs[p] = true
					switch state {
					case "PRICE_OBSERVED":
						s.in += held
						if s.held[currency] == nil {
							s.held[currency] = map[int64]int64{}
						}
						s.held[currency][price] += held
					case "UNAVAILABLE", "PRODUCT_NOT_FOUND":
						s.out += held
					default:
						s.unsure += held
						if o.outcome == contracts.AccessRestricted {
							s.restricted += held
						}
					}
					if !observed {
						continue
					}
					switch state {
					case "PRICE_OBSERVED":
						s.priced++
						s.prices[currency] = append(s.prices[currency], o)
					case "UNAVAILABLE":
						s.unavailable++
					case "PRODUCT_NOT_FOUND":
						s.notFound++
					default:
						s.unknown++
					}
					if o.site == "market.example" && o.buyBox == contracts.FlagTrue {
						s.wins[o.merchant]++
					}
					if i > 0 {
						before, had := chosen(all[i-1])[key]
						bs, bc, bp := stateOfRow(before)
						if had && (stateCode(before) != stateCode(o) || bs != state || bc != currency || bp != price) {
							s.changes++
						}
					}
				}
			}
		}
	}
	return found
}

// stateCode distinguishes all outcomes, as changes do.
func stateCode(r obsRow) contracts.Outcome {
	if r.outcome == contracts.PriceObserved && r.price < 0 {
		return contracts.OutcomeUnknown
	}
	return r.outcome
}

func (s *sums) show(from, until int64) query.StatisticRecord {
	secs := func(ms int64) json.Number { return json.Number(fmt.Sprintf("%d.%03d", ms/1000, ms%1000)) }
	pct := func(a, b int64) *json.Number {
		if b == 0 {
			return nil
		}
		n := json.Number(big.NewRat(100*a, b).FloatString(2))
		return &n
	}
	rec := query.StatisticRecord{
		Pairs: uint64(len(s.pairs)), Changes: s.changes, Observations: query.StatisticOutcomes{Priced: s.priced, Unavailable: s.unavailable, NotFound: s.notFound, Unknown: s.unknown},
		Seconds:      query.StatisticSeconds{InStock: secs(s.in), OutOfStock: secs(s.out), Unknown: secs(s.unsure), NotObserved: secs(max(0, int64(len(s.pairs))*(until-from)-s.in-s.out-s.unsure))},
		ShareInStock: pct(s.in, s.in+s.out),
	}
	total := int64(0)
	for _, n := range s.wins {
		total += int64(n)
	}
	for m, n := range s.wins {
		rec.BuyBox = append(rec.BuyBox, query.StatisticWinner{Merchant: &m, Wins: n, Share: *pct(int64(n), total)})
	}
	slices.SortFunc(rec.BuyBox, func(a, b query.StatisticWinner) int {
		return cmp.Or(-cmp.Compare(a.Wins, b.Wins), strings.Compare(*a.Merchant, *b.Merchant))
	})
	for currency, held := range s.held {
		digits := contracts.Currency(currency).Digits()
		show := func(v int64) *json.Number { n := json.Number(contracts.AppendMinor(nil, v, digits)); return &n }
		rows := s.prices[currency]
		pr := query.StatisticPricing{CurrencyCode: contracts.Currency(currency), Count: uint64(len(rows))}
		sum, ms := new(big.Int), int64(0)
		for price, h := range held {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(price), big.NewInt(h)))
			ms += h
		}
		pr.Seconds = secs(ms)
		if ms > 0 {
			unit := int64(1)
			for range digits {
				unit *= 10
			}
			n := json.Number(new(big.Rat).Quo(new(big.Rat).SetFrac(sum, big.NewInt(ms)), new(big.Rat).SetInt64(unit)).FloatString(digits + 2))
			pr.TimeWeightedAverage = &n
		}
		if len(rows) > 0 {
			slices.SortFunc(rows, func(a, b obsRow) int {
				return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site), cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture))
			})
			pr.First, pr.Last = show(rows[0].price), show(rows[len(rows)-1].price)
			slices.SortFunc(rows, func(a, b obsRow) int { return cmp.Compare(a.price, b.price) })
			n := len(rows)
			pr.Min, pr.P25, pr.Median, pr.P75, pr.Max = show(rows[0].price), show(rows[n/4].price), show(rows[(n-1)/2].price), show(rows[3*n/4].price), show(rows[n-1].price)
		}
		rec.Prices = append(rec.Prices, pr)
	}
	slices.SortFunc(rec.Prices, func(a, b query.StatisticPricing) int { return cmp.Compare(a.CurrencyCode, b.CurrencyCode) })
	return rec
}

// soldOut adds captures, some of one pair one after another, whose offers have
// prices but cannot be bought: their currencies are no change.
func (w *world) soldOut(r *rand.Rand, n int) {
	w.t.Helper()
	var fresh []obsRow
	for range n / 4 {
		row := obsRow{item: 1 + r.Uint64N(6), site: worldSites[r.IntN(len(worldSites))], epoch: epoch, outcome: contracts.Unavailable, ms: w.now.Add(-time.Duration(r.IntN(72)) * time.Hour).UnixMilli()}
		for range 4 {
			w.mark++
			row.ms += r.Int64N(2 * time.Minute.Milliseconds())
			row.seq, row.merchant, row.price, row.currency = w.mark, fmt.Sprint("Merchant ", r.IntN(2)), r.Int64N(2)*100, []string{"CHF", "JPY"}[r.IntN(2)]
			fresh = append(fresh, row)
		}
	}
	w.rows = append(w.rows, fresh...)
	w.write(fresh)
}

// TestStatistics compares statistics with a look at every row: all groupings,
// parts by the calendar of three zones, across the change of clocks, ties, late
// captures, several currencies, states that began before the window, and pages
// of any size.
func TestStatistics(t *testing.T) {
	w := newWorld(t, 181, 0)
	w.now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) // clocks changed on the 29th
	w.reports()
	r := rand.New(rand.NewPCG(18, 1))
	w.crowded(r, 150)
	w.soldOut(r, 80)
	w.insert(r, 500, 0)
	w.setMark(w.mark)
	seen := w.rows
	mark := w.mark
	w.insert(r, 60, 0)
	w.rows, w.mark = seen, mark
	records := 0
	for i := range effort.Often(10, 16) {
		req := query.StatisticsRequest{
			By:     []query.Grouping{query.ByProduct, query.BySite, query.ByMerchant, query.ByBrand, query.ByNothing}[i%5],
			Bucket: []string{"hour", "day", "week", "whole"}[r.IntN(4)],
		}
		zone := []string{"UTC", "Europe/Berlin", "Asia/Kolkata"}[r.IntN(3)]
		loc, _ := time.LoadLocation(zone)
		req.Timezone = zone
		to := w.now.Add(-time.Duration(r.Int64N(int64(60 * time.Hour)))).Truncate(time.Millisecond)
		if r.IntN(4) == 0 {
			to = w.now.Add(time.Hour) // time ends with now
		}
		from := to.Add(-time.Duration(r.Int64N(int64(9*24*time.Hour)) + int64(time.Minute))).Truncate(time.Millisecond)
		req.CapturedFrom, req.CapturedTo = from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano)
		switch r.IntN(4) {
		case 0:
			req.OrderID = orderB
		case 1:
			req.Site = contracts.SiteKey(worldSites[r.IntN(4)])
		case 2:
			req.ItemID = contracts.ItemID(1 + r.Uint64N(6))
		default:
			req.GlobalScope = true
			if to.Sub(from) > 168*time.Hour {
				req.CapturedFrom = to.Add(-168 * time.Hour).Format(time.RFC3339Nano)
				from = to.Add(-168 * time.Hour)
			}
		}
		if r.IntN(5) == 0 {
			req.Brand = "A"
		}
		if r.IntN(2) == 0 {
			req.Limit = ptr(map[string]int{"hour": 300, "day": 20, "week": 3, "whole": 1}[req.Bucket] + r.IntN(7))
		} else {
			req.Limit = ptr(10_000)
		}
		a := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther}[r.IntN(4)]
		end := to.UnixMilli() + 1
		edges := []int64{from.UnixMilli()}
		for at := from.In(loc).Truncate(time.Minute).Add(time.Minute); at.UnixMilli() < end; at = at.Add(time.Minute) {
			l := at.In(loc)
			begins := l.Minute() == 0 && (req.Bucket == "hour" || l.Hour() == 0 && (req.Bucket == "day" || req.Bucket == "week" && l.Weekday() == time.Monday))
			if begins {
				edges = append(edges, at.UnixMilli())
			}
		}
		edges = append(edges, end)
		until := min(end, w.now.UnixMilli())
		found := w.addUp(a, req, from.UnixMilli(), until, edges)
		var want []query.StatisticRecord
		pairs := map[contracts.Pair]bool{}
		keys := make([]string, 0, len(found))
		for k := range found {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		format := func(ms int64) string { return time.UnixMilli(ms).In(loc).Format("2006-01-02T15:04:05.000Z07:00") }
		for _, k := range keys {
			group, b, _ := strings.Cut(k, "\x00")
			var at int
			_, _ = fmt.Sscan(strings.TrimLeft(b, "0")+" ", &at)
			rec := found[k].show(edges[at], min(edges[at+1], until))
			rec.From, rec.To = format(edges[at]), format(edges[at+1])
			switch req.By {
			case query.ByProduct:
				id, _ := contracts.ParseID[contracts.ItemID](strings.TrimLeft(group, "0"))
				rec.ItemID = &id
			case query.BySite:
				rec.Site = &group
			case query.ByMerchant:
				rec.Merchant = &group
			case query.ByBrand:
				rec.Brand = &group
			}
			for p := range found[k].pairs {
				pairs[p] = true
			}
			want = append(want, rec)
		}
		got, echo := w.statistics(t, a, req)
		records += len(got)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("account %s, %+v (-want +got):\n%.6000s", a, req, diff)
		}
		if echo.ObservedPairs != uint64(len(pairs)) || echo.Pairs < echo.ObservedPairs {
			t.Errorf("%+v: %d pairs were observed", echo, len(pairs))
		}
	}
	if records < effort.Often(60, 330) {
		t.Errorf("only %d records", records)
	}
}

// TestStatisticsWalkAtTheGuard: the scan guard judges every page by the window
// of the first one.
func TestStatisticsWalkAtTheGuard(t *testing.T) {
	w := newWorld(t, 76, 400)
	guarded := w.over(w.store, func(c *query.Config) { c.ScanGuardMaxHours = 72 })
	account := query.Principal{Account: accountWhole}
	req := query.StatisticsRequest{ResultsRequest: query.ResultsRequest{
		OrderID: orderA, CapturedFrom: w.now.Add(-72*time.Hour + 2*time.Minute).Format(time.RFC3339), Limit: ptr(1),
	}}
	first := must.Get(guarded.Statistics(t.Context(), account, req))(t)
	if first.Paging.NextCursor == "" {
		t.Fatal("one page")
	}
	w.now = w.now.Add(3 * time.Minute)
	req.Cursor = first.Paging.NextCursor
	next := must.Get(guarded.Statistics(t.Context(), account, req))(t)
	if len(next.Data) != 1 || gocmp.Equal(next.Data, first.Data) || next.Query != first.Query {
		t.Errorf("%+v, then %+v", first, next)
	}
	req.Cursor = ""
	if _, err := guarded.Statistics(t.Context(), account, req); err == nil {
		t.Error("a new walk over more than 72 hours is accepted")
	}
}
