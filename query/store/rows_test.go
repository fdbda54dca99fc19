package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestRowFields reads single rows with and without each field group: FLD-00,
// FLD-G0, FLD-G1, FLD-G2, FLD-G3, FLD-G4, FLD-G5, FLD-01b, FLD-02b, FLD-02c,
// FLD-02d, FLD-03b, FLD-04a, FLD-04b, FLD-05a to FLD-05f, FLD-06a, FLD-06b,
// FLD-07a to FLD-07f, FLD-08.
func TestRowFields(t *testing.T) {
	w := newWorld(t, 1, 0)
	at := time.Date(2026, 3, 8, 11, 30, 0, 250_000_000, time.UTC)
	w.mark++
	row := func(item uint64, site string) obsRow {
		return obsRow{
			item: item, site: site, ms: at.UnixMilli(), epoch: epoch, seq: w.mark, outcome: contracts.PriceObserved, price: 1299,
			merchant: "Händler \"Eins\"", prime: contracts.FlagFalse, buyBox: contracts.FlagTrue,
		}
	}
	w.write([]obsRow{
		row(3, "alpha.example"), row(3, "gamma.example"), row(3, "market.example"),
		{item: 4, site: "market.example", ms: at.UnixMilli(), epoch: epoch, seq: w.mark, capture: 1, outcome: contracts.AccessRestricted, price: -1},
	})
	w.setMark(w.mark)
	w.exec("INSERT INTO customer_data VALUES (1, 3, 'Toys', {'price': '9.99', 'Note': 'a\"b'}, 1), (2, 3, 'Secret', {'theirs': 'x'}, 1)")
	w.exec(`INSERT INTO reference_prices VALUES
		(1, 3, [(1500, 'EUR', '', '', 'RRP'), (1400, 'EUR', 'gamma.example', '10', ''), (1500, 'EUR', '', '', 'RRP'), (99, 'USD', '', '', ''), (1, 'EUR', 'other.example', '', '')], 1),
		(2, 3, [(777, 'EUR', '', '', '')], 1)`)

	read := func(r query.ResultsRequest) map[string]any {
		t.Helper()
		p := must.Get(w.service.Results(t.Context(), query.Principal{Account: accountWhole}, r))(t)
		var rows []map[string]any
		if err := json.Unmarshal(array(&p.Rows), &rows); err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		return rows[0]
	}
	check := func(what string, r query.ResultsRequest, want string) {
		t.Helper()
		var wanted map[string]any
		must.Do(t, json.Unmarshal([]byte(want), &wanted))
		equals.Checkf(t, wanted, read(r), "%s", what)
	}
	core := `"itemId":"3","capturedAt":"2026-03-08T11:30:00.250Z","availability":"AVAILABLE","price":12.99,
		"priceMoney":{"value":12.99,"amountMinor":1299,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":"Händler \"Eins\""`
	export := `"productUrl":"https://SITE/3","offerTitle":"Titel \"SITE","shippingCost":null,"shippingCostMoney":null,"totalPrice":null,
		"totalPriceMoney":null,"deliveryText":"sofort","manufacturer":"Maker GmbH"`
	at3 := func(site string, inc query.Include) query.ResultsRequest {
		return query.ResultsRequest{ItemID: 3, Site: contracts.SiteKey(site), Include: inc}
	}
	of := func(site string) string {
		return strings.ReplaceAll(export, "SITE", site)
	}
	check("core alone", at3("alpha.example", query.Include{}), `{"site":"alpha.example",`+core+`}`)
	check("identity", at3("alpha.example", query.Include{Identity: true}), `{"site":"alpha.example",`+core+`,
		"ean":"5901234123457","pzn":null,"asin":null,"asinLocale":null,"productName":"Item 3 \"quoted\" \\ tab\tend","brand":"B","manufacturer":"Maker"}`)
	check("order ids", at3("gamma.example", query.Include{OrderIDs: true}), `{"site":"gamma.example",`+core+`,"orderIds":["101","102"]}`)
	check("customer data", at3("alpha.example", query.Include{CustomerData: true}), `{"site":"alpha.example",`+core+`,"customerData":{"price":"9.99","Note":"a\"b"}}`)
	check("coverage", at3("alpha.example", query.Include{Coverage: true}), `{"site":"alpha.example",`+core+`,"coverageState":"PRICE_OBSERVED","lastProcessedAt":"2026-03-08T11:30:00.250Z"}`)
	check("export at the comparison platform", at3("alpha.example", query.Include{ExportFields: true}), `{"site":"alpha.example",`+core+`,`+of("alpha.example")+`,
		"productRating":{"value":4.3,"scale":5},
		"customerReferencePrices":[{"value":15.00,"amountMinor":1500,"currencyCode":"EUR","priceType":"RRP"}],
		"referencePrice":15.00,"referencePriceMoney":{"value":15.00,"amountMinor":1500,"currencyCode":"EUR"}}`)
	check("export at a site of its own price", at3("gamma.example", query.Include{ExportFields: true}), `{"site":"gamma.example",`+core+`,`+of("gamma.example")+`,
		"customerReferencePrices":[{"value":14.00,"amountMinor":1400,"currencyCode":"EUR","appliesToSite":"gamma.example","referenceQuantity":"10"},
			{"value":15.00,"amountMinor":1500,"currencyCode":"EUR","priceType":"RRP"}]}`)
	check("export at the country market", at3("market.example", query.Include{ExportFields: true}), `{"site":"market.example",`+core+`,`+of("market.example")+`,
		"isPrime":false,"isBuyBox":true,
		"customerReferencePrices":[{"value":15.00,"amountMinor":1500,"currencyCode":"EUR","priceType":"RRP"}],
		"referencePrice":15.00,"referencePriceMoney":{"value":15.00,"amountMinor":1500,"currencyCode":"EUR"}}`)
	check("no price, in a zone", query.ResultsRequest{ItemID: 4, Site: "market.example", Timezone: "Asia/Kathmandu", Include: query.Include{Coverage: true, ExportFields: true}},
		`{"itemId":"4","site":"market.example","capturedAt":"2026-03-08T17:15:00.250+05:45","availability":"UNKNOWN","price":null,"priceMoney":null,
		"currencyCode":null,"merchant":null,"coverageState":"UNKNOWN","lastProcessedAt":"2026-03-08T17:15:00.250+05:45",
		"productUrl":"https://market.example/4","offerTitle":"Titel \"market.example","shippingCost":null,"shippingCostMoney":null,"totalPrice":null,
		"totalPriceMoney":null,"deliveryText":"sofort","manufacturer":"Maker GmbH","customerReferencePrices":[]}`)
}
