package mcp

import (
	"context"
	"slices"
	"strings"

	"preismon/query"
	"preismon/query/wire"
)

// positionArguments are those of a price among offers, and then those of the
// caller's own positions.
func positionArguments() []string {
	arguments := wire.Operation(wire.MarketPosition).Parameters()
	for _, name := range wire.Operation(wire.PricePositions).Parameters() {
		if !slices.Contains(arguments, name) {
			arguments = append(arguments, name)
		}
	}
	return arguments
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
