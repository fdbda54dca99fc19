package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
)

// marketWorld has sites of two countries; alpha and gamma are German.
func marketWorld(t *testing.T) *world {
	w := newWorld(t, 71, 0)
	w.reports()
	for site, country := range map[string]string{"beta.example": "AT", "market.example": "CH"} {
		w.exec("INSERT INTO sites VALUES (?, 'x', 'shop', ?, 'EUR', '', false, false, 2)", site, country)
	}
	return w
}

// capture writes one capture with offers, each a price and a currency.
func (w *world) capture(item uint64, site string, age time.Duration, outcome contracts.Outcome, offers ...string) {
	w.t.Helper()
	w.mark++
	var rows []obsRow
	for i, text := range append(offers, "-1 ")[:max(1, len(offers))] {
		row := obsRow{item: item, site: site, ms: w.now.Add(-age).UnixMilli(), epoch: epoch, seq: w.mark, offer: uint16(i), outcome: outcome, merchant: fmt.Sprint("M", i)}
		if _, err := fmt.Sscan(text, &row.price, &row.currency); err != nil && row.price != -1 {
			w.t.Fatal(text, err)
		}
		rows = append(rows, row)
	}
	w.rows = append(w.rows, rows...)
	w.write(rows)
	w.setMark(w.mark)
}

func (w *world) position(a contracts.AccountID, r query.PositionRequest) (*query.MarketPosition, error) {
	return w.service.MarketPosition(w.t.Context(), query.Principal{Account: a}, r)
}

// standings returns each position in one line.
func (w *world) standings(a contracts.AccountID, r query.PositionRequest) (lines []string) {
	w.t.Helper()
	answer, err := w.position(a, r)
	if err != nil {
		w.t.Fatalf("%+v: %v", r, err)
	}
	for _, p := range answer.Positions {
		line := fmt.Sprintf("%s %s: %d at %d, %s %s %s, %s %s", *p.Country, p.CurrencyCode, p.Offers, p.Sites, p.Min, p.Median, p.Max, p.Reference.Source, p.Reference.Price)
		if c := p.Candidate; c != nil {
			line += fmt.Sprintf("; %s is %d: %d %d %d, %s%%, %s", c.Price, c.Rank, c.Cheaper, c.Equal, c.Dearer, c.Percentile, c.DifferenceToReference)
			if c.DifferencePercent != nil {
				line += fmt.Sprintf(" %s%%", *c.DifferencePercent)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestMarketPosition: current offers in groups, invalid requests, and random
// markets.
func TestMarketPosition(t *testing.T) {
	t.Parallel()
	w := marketWorld(t)
	t.Run("groups", func(t *testing.T) { w.positionGroups(t) })
	t.Run("refusals", func(t *testing.T) { w.positionRefusals(t) })
	t.Run("exact", func(t *testing.T) { w.positionIsExact(t) })
}

// positionGroups groups current offers strictly by country and currency:
// TOOL-04a, TOOL-04c, VIS-01a, VIS-02, VIS-04.
func (w *world) positionGroups(t *testing.T) {
	const hour, available = time.Hour, contracts.PriceObserved
	w.capture(3, "alpha.example", 9*hour, available, "1 EUR") // no longer the newest
	w.capture(3, "alpha.example", 2*hour, available, "1299 EUR", "1099 EUR", "-1 EUR", "5 USD")
	w.capture(3, "gamma.example", 168*hour, available, "1500 EUR", "1299 EUR")
	w.capture(3, "beta.example", time.Hour, available, "900 EUR", "1000 EUR", "1001 EUR")
	w.capture(3, "market.example", hour, available, "1500 JPY")
	w.capture(4, "alpha.example", hour, available, "2000 EUR")                   // the only offer that counts
	w.capture(4, "beta.example", hour, contracts.Unavailable, "1 EUR")           // cannot be bought
	w.capture(4, "gamma.example", 168*hour+time.Millisecond, available, "1 EUR") // too old
	w.capture(4, "market.example", 2*hour, available, "1 EUR")
	w.capture(4, "market.example", hour, contracts.SiteUnavailable) // unknown by now
	const median = "MARKET_MEDIAN"
	for name, c := range map[string]struct {
		account contracts.AccountID
		r       query.PositionRequest
		want    []string
	}{
		"groups": {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "12.99"}, []string{
			"AT EUR: 3 at 1, 9.00 10.00 10.01, " + median + " 10.00; 12.99 is 4: 3 0 0, 100.00%, 2.99 29.90%",
			"CH JPY: 1 at 1, 1500 1500 1500, " + median + " 1500", // yen have no decimals
			"DE EUR: 4 at 2, 10.99 12.99 15.00, " + median + " 12.99; 12.99 is 2: 1 2 1, 25.00%, 0.00 0.00%",
			"DE USD: 1 at 1, 0.05 0.05 0.05, " + median + " 0.05; 12.99 is 2: 1 0 0, 100.00%, 12.94 25880.00%",
		}},
		"whole yen":     {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "1400", CurrencyCode: "JPY"}, []string{"CH JPY: 1 at 1, 1500 1500 1500, " + median + " 1500; 1400 is 1: 0 0 1, 0.00%, -100 -6.67%"}},
		"zeros are yen": {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "1400.00", Country: "CH"}, []string{"CH JPY: 1 at 1, 1500 1500 1500, " + median + " 1500; 1400 is 1: 0 0 1, 0.00%, -100 -6.67%"}},
		"a country":     {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "9", Country: "AT"}, []string{"AT EUR: 3 at 1, 9.00 10.00 10.01, " + median + " 10.00; 9.00 is 1: 0 1 2, 0.00%, -1.00 -10.00%"}},
		"a currency":    {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "9", CurrencyCode: "USD"}, []string{"DE USD: 1 at 1, 0.05 0.05 0.05, " + median + " 0.05; 9.00 is 2: 1 0 0, 100.00%, 8.95 17900.00%"}},
		"both, none":    {accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "9", CurrencyCode: "USD", Country: "AT"}, nil},
		"current only":  {accountWhole, query.PositionRequest{ItemID: 4, CandidatePrice: "9"}, []string{"DE EUR: 1 at 1, 20.00 20.00 20.00, " + median + " 20.00; 9.00 is 1: 0 0 1, 0.00%, -11.00 -55.00%"}},
		"by ean":        {accountWhole, query.PositionRequest{EAN: "5901234123457", CandidatePrice: "12.99", Country: "AT"}, []string{"AT EUR: 3 at 1, 9.00 10.00 10.01, " + median + " 10.00; 12.99 is 4: 3 0 0, 100.00%, 2.99 29.90%"}},
		// Order B has gamma and market of item 3: what others see does not
		// count.
		"one order":      {accountOrder, query.PositionRequest{ItemID: 3, CandidatePrice: "14", CurrencyCode: "EUR"}, []string{"DE EUR: 2 at 1, 12.99 12.99 15.00, " + median + " 12.99; 14.00 is 2: 1 0 1, 50.00%, 1.01 7.78%"}},
		"not visible":    {accountWhole, query.PositionRequest{ItemID: 6, CandidatePrice: "14"}, nil},
		"no such item":   {accountWhole, query.PositionRequest{ItemID: 99, CandidatePrice: "14"}, nil},
		"an empty scope": {accountNone, query.PositionRequest{ItemID: 3, CandidatePrice: "14"}, nil},
	} {
		equals.Checkf(t, c.want, w.standings(c.account, c.r), "%s", name)
	}
	aged, err := w.position(accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "10", Country: "DE", CurrencyCode: "EUR"})
	if err != nil || aged.Positions[0].OldestCapturedAt != "2026-03-01T12:00:00.000Z" || aged.Positions[0].NewestCapturedAt != "2026-03-08T10:00:00.000Z" {
		t.Errorf("%+v, %v", aged, err)
	}
	// Of equal offers the best is the first by site, whichever came last.
	w.capture(1, "alpha.example", 2*hour, available, "1000 EUR")
	w.capture(1, "gamma.example", hour, available, "1000 EUR", "1000 EUR")
	tied, err := w.position(accountWhole, query.PositionRequest{ItemID: 1, CandidatePrice: "10"})
	if err != nil || tied.Positions[0].Best.Site != "alpha.example" || tied.Positions[0].Sites != 2 || tied.Positions[0].OldestCapturedAt != "2026-03-08T10:00:00.000Z" {
		t.Errorf("%+v, %v", tied, err)
	}
	// An account that sees nothing learns nothing about what exists (VIS-03).
	hidden := must.Get(w.position(accountWhole, query.PositionRequest{ItemID: 6, CandidatePrice: "14"}))(t)
	absent := must.Get(w.position(accountWhole, query.PositionRequest{ItemID: 99, CandidatePrice: "14"}))(t)
	absent.Query.ItemID = 6
	if diff := cmp.Diff(hidden, absent); diff != "" || hidden.Positions == nil || !strings.Contains(hidden.Note, "does not tell that the product does not exist") {
		t.Errorf("%s\n%+v", diff, hidden)
	}
}

// TestMarketPositionJSON shows the whole answer.
func TestMarketPositionJSON(t *testing.T) {
	w := marketWorld(t)
	w.exec("INSERT INTO sites VALUES ('gamma.example', 'x', 'shop', '', 'EUR', '', false, false, 2)")
	w.capture(3, "alpha.example", 2*time.Hour, contracts.PriceObserved, "1000 EUR", "1001 EUR")
	w.capture(3, "gamma.example", time.Hour, contracts.PriceObserved, "0 EUR")
	answer := must.Get(w.position(accountWhole, query.PositionRequest{ItemID: 3, CandidatePrice: "9.5"}))(t)
	got := must.Get(json.Marshal(answer))(t)
	want := `{"positions":[` +
		`{"country":null,"currencyCode":"EUR","offers":1,"sites":1,"min":0.00,"median":0.00,"max":0.00,"oldestCapturedAt":"2026-03-08T11:00:00.000Z","newestCapturedAt":"2026-03-08T11:00:00.000Z",` +
		`"candidate":{"price":9.50,"rank":2,"cheaper":1,"equal":0,"dearer":0,"percentile":100.00,"differenceToReference":9.50,"differencePercent":null},"reference":{"source":"MARKET_MEDIAN","price":0.00},"best":{"site":"gamma.example","merchant":"M0","price":0.00}},` +
		`{"country":"DE","currencyCode":"EUR","offers":2,"sites":1,"min":10.00,"median":10.00,"max":10.01,"oldestCapturedAt":"2026-03-08T10:00:00.000Z","newestCapturedAt":"2026-03-08T10:00:00.000Z",` +
		`"candidate":{"price":9.50,"rank":1,"cheaper":0,"equal":0,"dearer":2,"percentile":0.00,"differenceToReference":-0.50,"differencePercent":-5.00},"reference":{"source":"MARKET_MEDIAN","price":10.00},"best":{"site":"alpha.example","merchant":"M0","price":10.00}}],` +
		`"note":"Each position is one country and one currency. The candidate price is taken as an amount of the position's own currency; nothing is converted.",` +
		`"query":{"itemId":"3","candidatePrice":"9.5","capturedFrom":"2026-03-01T12:00:00.000Z","capturedTo":"2026-03-08T12:00:00.000Z"}}`
	equals.Check(t, want, string(got))
}

// positionIsExact compares random markets with amounts counted one by one
// (TOOL-04a).
func (w *world) positionIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 2))
	for round := range 8 {
		var amounts []int64
		var offers []string
		for range 1 + r.IntN(9) {
			a := 900 + r.Int64N(20)
			amounts = append(amounts, a)
			offers = append(offers, fmt.Sprint(a, " EUR"))
		}
		w.now = w.now.Add(time.Hour)
		w.capture(2, "alpha.example", 0, contracts.PriceObserved, offers...)
		slices.Sort(amounts)
		n := len(amounts)
		median := amounts[n/2]
		if n%2 == 0 {
			median = amounts[n/2-1]
		}
		candidate := 895 + r.Int64N(30)
		var cheaper, equal int
		for _, a := range amounts {
			if a < candidate {
				cheaper++
			}
			if a == candidate {
				equal++
			}
		}
		euros := func(minor int64) string { return string(contracts.AppendMinor(nil, minor, 2)) }
		want := fmt.Sprintf("DE EUR: %d at 1, %s %s %s, MARKET_MEDIAN %s; %s is %d: %d %d %d, %.2f%%, %s", n, euros(amounts[0]), euros(median), euros(amounts[n-1]), euros(median),
			euros(candidate), cheaper+1, cheaper, equal, n-cheaper-equal, 100*float64(cheaper)/float64(n), euros(candidate-median))
		got := w.standings(accountWhole, query.PositionRequest{ItemID: 2, CandidatePrice: euros(candidate)})
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("round %d: %v\ngot  %s\nwant %s", round, amounts, got, want)
		}
	}
}
