package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"preismon/cmd/preismon/records"
	"preismon/deploy/testserver/must"
)

// TestTablesForPeople: tables of records name products, and show prices with
// their currency and changes in percent.
func TestTablesForPeople(t *testing.T) {
	names := &products{known: map[string]string{"17": "Kettle, blue"}}
	for name, c := range map[string]struct {
		of     shape
		record string
		want   string
	}{
		"mover": {
			moverCells,
			`{"itemId":"17","site":"one.example","kinds":["PRICE_DOWN","BUYBOX_WON"],"priceDifference":-1.00,"priceDifferencePercent":-4.76,"before":{"capturedAt":"2026-11-22T00:00:00.000Z","coverageState":"PRICE_OBSERVED","price":20.99,"currencyCode":"USD","merchant":null},"after":{"capturedAt":"2026-11-24T00:00:00.000Z","coverageState":"PRICE_OBSERVED","price":19.99,"currencyCode":"USD","merchant":"Me"}}`,
			"product       site         kind                    before     after      change    merchant  capturedAt                itemId\n" +
				"Kettle, blue  one.example  PRICE_DOWN, BUYBOX_WON  20.99 USD  19.99 USD  -4.76 %   Me        2026-11-24T00:00:00.000Z  17\n",
		},
		"gone": {
			moverCells, `{"itemId":"17","site":"s","kinds":["OUT_OF_STOCK"],"priceDifference":null,"priceDifferencePercent":null,"before":null,"after":{"capturedAt":"t","coverageState":"UNAVAILABLE","price":null,"currencyCode":"EUR","merchant":null}}`,
			"product       site  kind          before  after        change  merchant  capturedAt  itemId\n" +
				"Kettle, blue  s     OUT_OF_STOCK  –       UNAVAILABLE  –       –         t           17\n",
		},
		"position": {
			positionCells,
			`{"itemId":"17","country":"DE","currencyCode":"EUR","ownPrice":12.00,"ownSite":null,"rank":4,"offers":3,"cheapest":{"site":"s","merchant":"M","price":10.00},"difference":2.00,"differencePercent":20.00}`,
			"product       yours      cheapest   difference  percent   rank    at    country  your site  itemId\n" +
				"Kettle, blue  12.00 EUR  10.00 EUR  2.00 EUR    +20.00 %  4 of 4  s, M  DE       –          17\n",
		},
		"market": {
			itemSummaryCells,
			`{"country":"DE","currencyCode":"EUR","cheapest":{"site":"s","merchant":"M","price":9.00,"shippingCost":1.00,"totalPrice":10.00,"capturedAt":"t"},"offers":7,"withoutShipping":2,"ownPrice":12.00,"rank":3,"rankWithShipping":4,"position":{},"low":{"price":8.00,"site":"s","on":"2026-10-01"},"high":{"price":15.00,"site":"s","on":"2026-10-02"},"observations":{},"buyBox":[{}],"lastCapturedAt":"u","sites":[{}]}`,
			"country currencyCode cheapest at offers yours rank with shipping lowest highest capturedAt DE EUR 10.00 EUR s, M 7 12.00 EUR 3 4 8.00 EUR 15.00 EUR u",
		},
		"market without offers": {
			itemSummaryCells,
			`{"country":null,"currencyCode":"EUR","cheapest":null,"offers":0,"ownPrice":null,"rank":null,"rankWithShipping":null,"low":null,"high":null,"lastCapturedAt":null}`,
			"country currencyCode cheapest at offers yours rank with shipping lowest highest capturedAt – EUR – – 0 – – – – – –",
		},
		"statistic": {
			(&statsCmd{By: "product", Bucket: "whole"}).cells,
			`{"itemId":"17","pairs":1,"observations":{"priced":1500,"unavailable":2},"changes":4,"shareInStock":99.50,"prices":[{"currencyCode":"EUR","min":1.00,"median":2.00,"max":3.00,"last":2.50}]}`,
			"product       lowest    median    highest   last      changes  in stock  prices  unavailable  pairs  itemId\n" +
				"Kettle, blue  1.00 EUR  2.00 EUR  3.00 EUR  2.50 EUR  4        99.50 %   1,500   2            1      17\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			row := must.Get(names.shaped(c.of, json.RawMessage(c.record)))(t)
			var out bytes.Buffer
			table := records.Table(&out, false, 0)
			must.Do(t, table.Write(row))
			if err := table.Close(); err != nil || strings.Join(strings.Fields(out.String()), " ") != strings.Join(strings.Fields(c.want), " ") {
				t.Errorf("%v\n%s\nwant\n%s", err, out.String(), c.want)
			}
		})
	}
}
