package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
)

// TestCustomerReference uses the customer's own price where it applies, as
// referencePrice of results does, and the median elsewhere: TOOL-04b, TOOL-04c,
// FLD-05b, FLD-06b.
func TestCustomerReference(t *testing.T) {
	t.Parallel()
	w := marketWorld(t)
	for _, site := range []string{"alpha.example", "gamma.example"} {
		w.capture(3, site, time.Hour, contracts.PriceObserved, "1000 EUR", "1200 EUR")
	}
	w.capture(3, "beta.example", time.Hour, contracts.PriceObserved, "1100 EUR")
	w.exec("INSERT INTO reference_prices VALUES (2, 3, [(1, 'EUR', '', '', '')], 1)") // another mandate's
	const germany, customer = "DE EUR: 4 at 2, 10.00 10.00 12.00, ", "CUSTOMER_REFERENCE "
	const medians = germany + "MARKET_MEDIAN 10.00; 9.00 is 1: 0 0 4, 0.00%, -1.00 -10.00%"
	const austria = "AT EUR: 1 at 1, 11.00 11.00 11.00, MARKET_MEDIAN 11.00; 9.00 is 1: 0 0 1, 0.00%, -2.00 -18.18%"
	for version, c := range []struct {
		name, prices string
		want         []string
	}{
		{"none", "", []string{austria, medians}},
		{"a generic one", "(800, 'EUR', '', '', 'RRP')", []string{
			"AT EUR: 1 at 1, 11.00 11.00 11.00, " + customer + "8.00; 9.00 is 1: 0 0 1, 0.00%, 1.00 12.50%",
			germany + customer + "8.00; 9.00 is 1: 0 0 4, 0.00%, 1.00 12.50%",
		}},
		{"the same twice", "(800, 'EUR', 'alpha.example', '', 'RRP'), (800, 'EUR', 'alpha.example', '', 'RRP')", []string{
			austria, germany + customer + "8.00; 9.00 is 1: 0 0 4, 0.00%, 1.00 12.50%",
		}},
		{"one for a site", "(800, 'EUR', 'gamma.example', '', '')", []string{
			austria, germany + customer + "8.00; 9.00 is 1: 0 0 4, 0.00%, 1.00 12.50%",
		}},
		{"of nothing", "(0, 'EUR', 'gamma.example', '', '')", []string{austria, germany + customer + "0.00; 9.00 is 1: 0 0 4, 0.00%, 9.00"}},
		{"another currency or site", "(800, 'USD', '', '', ''), (700, 'EUR', 'market.example', '', '')", []string{austria, medians}},
		{"generic and of a site", "(800, 'EUR', '', '', ''), (700, 'EUR', 'gamma.example', '', '')", []string{
			"AT EUR: 1 at 1, 11.00 11.00 11.00, " + customer + "8.00; 9.00 is 1: 0 0 1, 0.00%, 1.00 12.50%", medians,
		}},
		{"two price types of one amount", "(800, 'EUR', '', '', 'RRP'), (800, 'EUR', '', '', 'Cost')", []string{austria, medians}},
		{"of two sites", "(800, 'EUR', 'alpha.example', '', ''), (800, 'EUR', 'gamma.example', '', '')", []string{austria, medians}},
	} {
		w.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (1, 3, [%s], %d)", c.prices, version+1))
		r := query.PositionRequest{ItemID: 3, CandidatePrice: "9", IncludeCustomerReference: true}
		equals.Checkf(t, c.want, w.standings(accountWhole, r), "%s", c.name)
		if r.IncludeCustomerReference = false; version == 1 {
			equals.Checkf(t, []string{austria, medians}, w.standings(accountWhole, r), "%s, not asked for", c.name)
		}
		// In a market of one site it is the referencePrice of the site's rows.
		r.IncludeCustomerReference, r.Country = true, "AT"
		answer := must.Get(w.position(accountWhole, r))(t)
		p := must.Get(w.service.Results(t.Context(), query.Principal{Account: accountWhole}, query.ResultsRequest{ItemID: 3, Site: "beta.example", Include: query.Include{ExportFields: true}}))(t)
		var rows []struct{ ReferencePrice *json.Number }
		if err := json.Unmarshal(array(&p.Rows), &rows); err != nil || len(rows) != 1 {
			t.Fatal(err, rows)
		}
		got := answer.Positions[0].Reference
		if field := rows[0].ReferencePrice; (field != nil) != (got.Source == query.CustomerReference) || field != nil && *field != got.Price {
			t.Errorf("%s: %+v, referencePrice %v", c.name, got, field)
		}
	}
	t.Run("of several items", func(t *testing.T) { w.severalItems(t) })
}

// severalItems has two items with one EAN in the scope: their offers, and the
// reference prices that apply to them, count together.
func (w *world) severalItems(t *testing.T) {
	w.exec("INSERT INTO items VALUES (1, '4012345678901', '', '', '', '', '', '', 2), (2, '4012345678901', '', '', '', '', '', '', 2)")
	w.capture(1, "alpha.example", time.Hour, contracts.PriceObserved, "1000 EUR")
	w.capture(2, "alpha.example", time.Hour, contracts.PriceObserved, "2000 EUR")
	r := query.PositionRequest{EAN: "4012345678901", CandidatePrice: "15", IncludeCustomerReference: true}
	const offers = "DE EUR: 2 at 1, 10.00 10.00 20.00, "
	w.exec("INSERT INTO reference_prices VALUES (1, 1, [(900, 'EUR', '', '', '')], 1), (1, 2, [(900, 'EUR', '', '', '')], 1)")
	if got := w.standings(accountWhole, r); len(got) != 1 || !strings.HasPrefix(got[0], offers+"CUSTOMER_REFERENCE 9.00; 15.00 is 2: 1 0 1") {
		t.Errorf("%v", got)
	}
	w.exec("INSERT INTO reference_prices VALUES (1, 2, [(901, 'EUR', '', '', '')], 2)")
	if got := w.standings(accountWhole, r); len(got) != 1 || !strings.HasPrefix(got[0], offers+"MARKET_MEDIAN 10.00") {
		t.Errorf("%v", got)
	}
}

// TestPositionsOfReferencePricesByTotal compares reference prices with the total
// prices of offers: an offer that is cheap without its shipping is not the
// cheapest, and one whose shipping is not known is left out and counted.
func TestPositionsOfReferencePricesByTotal(t *testing.T) {
	w := newWorld(t, 204, 0)
	w.reports()
	for _, site := range []string{"alpha.example", "beta.example", "gamma.example"} {
		w.exec("INSERT INTO sites VALUES (?, 'x', 'shop', 'DE', 'EUR', '', false, false, 2)", site)
	}
	var rows []obsRow
	offer := func(item uint64, site string, price int64, shipping *int64) {
		w.mark++
		rows = append(rows, obsRow{item: item, site: site, ms: w.now.Add(-time.Hour).UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: price, shipping: shipping, merchant: site})
	}
	offer(3, "alpha.example", 100, ptr(int64(500)))
	offer(3, "gamma.example", 300, ptr(int64(0)))
	offer(3, "beta.example", 50, nil)
	offer(2, "alpha.example", 700, ptr(int64(100)))
	offer(1, "alpha.example", 10, nil)
	w.add(rows)
	w.exec("INSERT INTO reference_prices VALUES (1, 3, [(450, 'EUR', '', '', '')], 1), (1, 2, [(790, 'EUR', '', '', '')], 1), (1, 1, [(5, 'EUR', '', '', '')], 1)")
	for amount, want := range map[string]struct {
		positions    []string
		withoutTotal int
	}{
		"price":      {[]string{"3: 4.50, 4 of 3, beta.example 0.50, 4.00", "2: 7.90, 2 of 1, alpha.example 7.00, 0.90", "1: 0.05, 1 of 1, alpha.example 0.10, -0.05"}, 0},
		"totalPrice": {[]string{"3: 4.50, 2 of 2, gamma.example 3.00, 1.50", "2: 7.90, 1 of 1, alpha.example 8.00, -0.10"}, 2},
	} {
		for _, offers := range []string{"featured", "all"} { // each capture has one offer
			all, echo := w.positions(t, accountWhole, query.PositionsRequest{ResultsRequest: query.ResultsRequest{GlobalScope: true}, Amount: amount, Offers: offers})
			var got []string
			for _, p := range all {
				got = append(got, fmt.Sprintf("%d: %s, %d of %d, %s %s, %s", uint64(p.ItemID), p.OwnPrice, p.Rank, p.Offers, p.Cheapest.Site, p.Cheapest.Price, p.Difference))
			}
			if diff := cmp.Diff(want.positions, got); diff != "" || echo.WithoutTotal != want.withoutTotal || echo.Beside != "reference" || echo.Amount != amount {
				t.Errorf("%s, %s: %+v (-want +got):\n%s", amount, offers, echo, diff)
			}
		}
	}
}
