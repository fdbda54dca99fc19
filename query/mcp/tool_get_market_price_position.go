package mcp

import (
	"context"
	"strings"

	"preismon/query"
	"preismon/query/wire"
)

func getMarketPricePosition() tool {
	return tool{
		name: "get_market_price_position", operation: "listResults", required: []string{"candidatePrice"}, heavy: true,
		arguments: wire.Operation(wire.MarketPosition).Parameters(),
		about: "Places a candidate price among the current offers (168 hours) of one product: one position per country and currency, " +
			"never converted or mixed. All offers of a capture count. Name the product by itemId, ean, pzn, or asin with asinLocale. No position proves nothing " +
			"beyond what you see.",
		answer: positionAnswer,
		run:    runPosition,
	}
}

func runPosition(ctx context.Context, s *query.Service, c Call) (Result, error) {
	answer, err := wire.MarketPosition(ctx, s, c.Principal, wire.FromArguments(c.Arguments))
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

// positionAnswer is a standing per market.
func positionAnswer() (schema, error) {
	text, number, count := kind("string"), kind("number"), kind("integer")
	return answerOf(countedSchema(), object(schema{
		"positions": listOf(object(schema{
			"country": kind("string", "null"), "currencyCode": text, "offers": count, "sites": count,
			"min": number, "median": number, "max": number, "oldestCapturedAt": text, "newestCapturedAt": text,
			"candidate": schema{"type": []any{"object", "null"}, "properties": schema{
				"price": number, "rank": count, "cheaper": count, "equal": count, "dearer": count, "percentile": number,
				"differenceToReference": number, "differencePercent": kind("number", "null"),
			}},
			"reference": object(schema{"source": schema{"enum": []any{query.MarketMedian, query.CustomerReference}}, "price": number}),
			"best":      object(schema{"site": text, "merchant": kind("string", "null"), "price": number}),
		})),
		"note": text, "query": kind("object"),
	}, "positions", "note", "query")), nil
}
