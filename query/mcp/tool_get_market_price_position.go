package mcp

import (
	"context"
	"slices"
	"strings"

	"preismon/query"
	"preismon/query/wire"
)

func getMarketPricePosition() tool {
	arguments := wire.Operation(wire.MarketPosition).Parameters()
	for _, name := range wire.Operation(wire.PricePositions).Parameters() {
		if !slices.Contains(arguments, name) {
			arguments = append(arguments, name)
		}
	}
	return tool{
		name: "get_market_price_position", title: "Price position", operation: "listResults", records: shapeWithNames("listPositions"), heavy: true, arguments: arguments, maxLimit: query.MaxResultsLimit,
		about: "Places a candidatePrice among the current offers (168 hours) of a product, by country and currency. " +
			"Without it, where the caller is overpriced: its reference prices of an order, a site, or all, beside the cheapest " +
			"featured offer (buy box, else cheapest), worst first; query.above, equal, below, undercutBy count all pages. `fields` may have productName. An empty answer proves nothing.",
		words: map[string]string{
			"ownMerchant": "Whose prices are ours", "ownSite": "Our own shop", "site": "Its offers alone", "amount": "totalPrice: with shipping",
		},
		answer: shapeWith("listPositions", positionAnswer),
		run:    runPosition,
	}
}

func runPosition(ctx context.Context, s *query.Service, c Call) (Result, error) {
	params := c.params()
	if !slices.ContainsFunc([]string{"candidatePrice", "ean", "pzn", "asin", "asinLocale", "currencyCode", "country", "includeCustomerReference"}, params.Given) {
		return pages(wire.PricePositions)(ctx, s, c)
	}
	if c.Fields != nil {
		params.AddFault("fields: of the positions of many products, so without candidatePrice, its product and its market.")
	}
	answer, err := wire.MarketPosition(ctx, s, c.Principal, params)
	if err != nil {
		return Result{}, err
	}
	position := answer.(*query.MarketPosition)
	if len(position.Positions) == 0 {
		position.Note = strings.TrimSpace(noteOf(ctx, s, c) + " " + position.Note)
	}
	body, err := bodyOf(position, nil)
	if err != nil {
		return Result{}, err
	}
	return compose(head{Summary: counted{len(position.Positions)}, Completeness: completeness{Complete: true}}, body)
}

// positionAnswer returns the schema of a standing per market, or of a page of
// the caller's own positions.
func positionAnswer(body schema) schema {
	text, number, count := func() schema { return kind("string") }, func() schema { return kind("number") }, func() schema { return kind("integer") }
	properties := body["properties"].(schema)
	properties["paging"] = bare(properties["paging"], "object")
	properties["positions"] = described(listOf(object(schema{
		"country": kind("string", "null"), "currencyCode": text(), "offers": described(count(), "Current"), "sites": described(count(), "With such an offer"),
		"min": number(), "median": number(), "max": number(), "oldestCapturedAt": text(), "newestCapturedAt": text(),
		"candidate": described(schema{"type": []any{"object", "null"}, "properties": schema{
			"price": number(), "rank": described(count(), "1 and the cheaper offers"), "cheaper": described(count(), "Offers"),
			"equal": described(count(), "Offers"), "dearer": described(count(), "Offers"), "percentile": described(number(), "Percent cheaper"),
			"differenceToReference": described(number(), "Candidate less reference"), "differencePercent": described(kind("number", "null"), "Of the reference"),
		}}, "Null: too many decimals"),
		"reference": object(schema{
			"source": schema{"enum": []any{query.MarketMedian, query.CustomerReference}, "description": "Whose price"}, "price": number(),
		}),
		"best": described(kind("object"), "Like cheapest"),
	})), "With candidatePrice: one per country and currency")
	properties["data"].(schema)["description"] = "Without candidatePrice: one per product and market"
	properties["note"] = text()
	body["required"] = []string{"query"}
	return answerOf(countedSchema(), body)
}
