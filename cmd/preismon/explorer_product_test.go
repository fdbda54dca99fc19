package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
)

// itemSummary is the part of a product's summary that the page of products shows.
type itemSummary struct {
	Data []struct {
		Country      string
		CurrencyCode string
		Cheapest     *struct{ TotalPrice float64 }
		Offers       int
		OwnPrice     *float64
		Rank         *int
		RankShipped  *int `json:"rankWithShipping"`
		Low, High    *struct {
			Price float64
			Site  string
		}
		BuyBox []struct {
			Merchant *string
			Nobody   bool
			Captures int
			Share    float64
		}
		LastCapturedAt string
	}
	Query struct{ ItemID, Name, CapturedFrom, CapturedTo, Timezone string }
}

// compareMarkets compares what the page shows of the markets of two products
// with the service's answers to it, and those with the service and the rows:
// nothing is added up on the way.
func (s explorerSaid) compareMarkets(t *testing.T, client *api, rows []explorerRow) {
	t.Helper()
	var markets []string
	boxes := map[string]float64{} // shares
	slices.SortFunc(s.Summaries, func(a, b itemSummary) int { return strings.Compare(a.Query.ItemID, b.Query.ItemID) })
	for _, told := range s.Summaries {
		var again itemSummary
		window := url.Values{"capturedFrom": {told.Query.CapturedFrom}, "capturedTo": {told.Query.CapturedTo}, "timezone": {told.Query.Timezone}}
		if _, body := client.get("/ext/v1/items/"+told.Query.ItemID+"/summary", window); json.Unmarshal(body, &again) != nil || len(again.Data) < len(told.Data) {
			t.Fatalf("summary: %.300s", body)
		}
		for i, m := range told.Data {
			market := m.Country + " " + m.CurrencyCode
			line := []string{market, "-", "-", "-", "-", "-", "-"}
			if m.Cheapest != nil {
				line[1] = fmt.Sprint(m.Cheapest.TotalPrice)
			}
			for at, n := range map[int]*float64{2: m.OwnPrice} {
				if n != nil {
					line[at] = fmt.Sprint(*n)
				}
			}
			for at, n := range map[int]*int{3: m.Rank, 4: m.RankShipped} {
				if n != nil {
					line[at] = fmt.Sprint(*n)
				}
			}
			if m.Low != nil {
				line[5], line[6] = fmt.Sprint(m.Low.Price), fmt.Sprint(m.High.Price)
				for _, v := range []float64{m.Low.Price, m.High.Price} {
					if !slices.ContainsFunc(rows, func(r explorerRow) bool { return r.ItemID == told.Query.ItemID && r.Price != nil && *r.Price == v }) {
						t.Errorf("%s: no row has the price %v", market, v)
					}
				}
				equals.Checkf(t, m.Low, again.Data[i].Low, "%s: lowest (-page +API)", market)
			}
			markets = append(markets, strings.Join(line, " | "))
			for _, b := range m.BuyBox {
				holder := "no merchant"
				if b.Nobody {
					holder = "nobody"
				} else if b.Merchant != nil {
					holder = *b.Merchant
				}
				boxes[fmt.Sprint(told.Query.Name, " | ", market, " | ", holder, " | ", b.Captures)] = b.Share
			}
			equals.Checkf(t, m.BuyBox, again.Data[i].BuyBox, "%s: buy boxes (-page +API)", market)
		}
	}
	var shown []string
	for _, r := range s.Markets {
		line := []string{r[1]}
		for _, cell := range r[2:] {
			line = append(line, amountOf(cell))
		}
		shown = append(shown, strings.Join(line, " | "))
	}
	for _, r := range s.Boxes {
		key := r[0] + " | " + r[1] + " | " + r[2] + " | " + strings.ReplaceAll(r[4], ",", "")
		share, err := strconv.ParseFloat(strings.TrimSuffix(r[3], " %"), 64)
		if told, ok := boxes[key]; !ok || err != nil || math.Abs(told-share) > 0.06 {
			t.Errorf("the page shows a buy box %q, told were %v", r, boxes)
		}
		delete(boxes, key)
	}
	slices.Sort(markets)
	slices.Sort(shown)
	if diff := gocmp.Diff(markets, shown); diff != "" || len(s.Summaries) != 2 {
		t.Errorf("markets of %d products (-told +page): %s", len(s.Summaries), diff)
	}
	if len(boxes) > 0 || len(s.Boxes) == 0 {
		t.Errorf("buy boxes that are not on show: %v", boxes)
	}
}

// comparePlaced compares where the page places an own price with the service's
// answer to it, and runs what the page offers for copying: curl, the client and
// the tool report the same.
func (s explorerSaid) comparePlaced(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	lines := func(all, word string) string {
		return strings.Join(slices.DeleteFunc(strings.Split(strings.ReplaceAll(all, "\\\n", ""), "\n"), func(line string) bool { return !strings.Contains(line, word) }), "\n")
	}
	untilSame(t, "placed", func() map[string][]string {
		var told strings.Builder
		for _, call := range s.Placed.MCP {
			if strings.Contains(call, "get_market_price_position") {
				told.WriteString(agent.called(call))
			}
		}
		return map[string][]string{
			"curl": placesOf(t, ran(t, "set -e\n"+lines(s.Placed.Curl, "/summary"), token)), "client": placesOf(t, p.ranAll(lines(s.Placed.CLI, "item-summary"))), "tool": placesOf(t, told.String()),
		}
	})
	var shown []string
	for _, r := range s.Positions {
		if r[2] == "" {
			continue
		}
		rank := slices.IndexFunc(s.Placed.Markets, func(m []string) bool { return m[0] == r[0] && m[1] == r[1] })
		place, _, _ := strings.Cut(s.Placed.Markets[rank][4], " ")
		shown = append(shown, strings.Join([]string{r[1], amountOf(r[2]), place, r[3], r[4], r[5], amountOf(r[6]), amountOf(r[7]), amountOf(r[8])}, " "))
	}
	slices.Sort(shown)
	var told strings.Builder
	for _, summary := range s.Placed.Told {
		told.Write(summary)
	}
	if diff := gocmp.Diff(placesOf(t, told.String()), shown); diff != "" || len(shown) < 2 {
		t.Errorf("own price of 100 (-told +page): %s", diff)
	}
}

// placesOf returns where a candidate stands in the output of curl, the client
// or the tool: market, price, rank, number of cheaper, equal and dearer offers,
// and the lowest, median and highest price.
func placesOf(t *testing.T, out string) (all []string) {
	t.Helper()
	type standing struct {
		Country, CurrencyCode string
		Min, Median, Max      float64
		Candidate             *struct {
			Price                        float64
			Rank, Cheaper, Equal, Dearer int
		}
	}
	add := func(p *standing) {
		if p != nil && p.Candidate != nil {
			c := p.Candidate
			all = append(all, fmt.Sprint(p.Country, " ", p.CurrencyCode, " ", c.Price, " ", c.Rank, " ", c.Cheaper, " ", c.Equal, " ", c.Dearer, " ", p.Min, " ", p.Median, " ", p.Max))
		}
	}
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var one struct {
			Position  *standing
			Data      []struct{ Position *standing }
			Positions []*standing
		}
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		add(one.Position)
		for _, m := range one.Data {
			add(m.Position)
		}
		for _, p := range one.Positions {
			add(p)
		}
	}
	slices.Sort(all)
	return all
}

// amountOf returns the first number of what the page wrote in English; "-":
// none.
func amountOf(cell string) string {
	cell = strings.NewReplacer("€", "", "¥", "", "KWD", "", ",", "", "\u00a0", " ").Replace(cell)
	number, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return "-"
	}
	return fmt.Sprint(v)
}
