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
		name: "get_market_price_position", operation: "listResults", heavy: true, arguments: arguments, maxLimit: query.MaxResultsLimit,
		about: "Places a candidatePrice among the current offers (168 hours) of one product: one per country and currency. " +
			"Without it, where the caller is too dear: its reference price of each product of an order, a site, or all, beside the " +
			"cheapest offer, worst first; query.above, equal and below count all pages. No position proves nothing beyond what you see.",
		words: map[string]string{
			"ownMerchant": "Without candidatePrice: whose prices are ours", "site": "Its offers alone", "amount": "totalPrice: with shipping",
		},
		answer: positionAnswer,
		run:    runPosition,
	}
}

func runPosition(ctx context.Context, s *query.Service, c Call) (Result, error) {
	params := wire.FromArguments(c.Arguments)
	if !slices.ContainsFunc([]string{"candidatePrice", "ean", "pzn", "asin", "asinLocale", "currencyCode", "country", "includeCustomerReference"}, params.Given) {
		return pages(wire.PricePositions)(ctx, s, c)
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

// positionAnswer is a standing per market, or a page of the caller's own
// positions.
func positionAnswer() (schema, error) {
	text, number, count := kind("string"), kind("number"), kind("integer")
	orNull := kind("string", "null")
	best := object(schema{"site": text, "merchant": orNull, "price": number})
	return answerOf(countedSchema(), object(schema{
		"positions": listOf(object(schema{
			"country": orNull, "currencyCode": text, "offers": count, "sites": count,
			"min": number, "median": number, "max": number, "oldestCapturedAt": text, "newestCapturedAt": text,
			"candidate": schema{"type": []any{"object", "null"}, "properties": schema{
				"price": number, "rank": count, "cheaper": count, "equal": count, "dearer": count, "percentile": number,
				"differenceToReference": number, "differencePercent": kind("number", "null"),
			}},
			"reference": object(schema{"source": schema{"enum": []any{query.MarketMedian, query.CustomerReference}}, "price": number}),
			"best":      best,
		})),
		"note": text,
		"data": listOf(object(schema{
			"itemId": text, "country": orNull, "currencyCode": text, "ownPrice": number, "ownSite": orNull, "rank": count, "offers": count,
			"cheapest": best, "difference": number, "differencePercent": kind("number", "null"), "oldestCapturedAt": text, "newestCapturedAt": text,
		})),
		"paging": kind("object"),
		"query": object(schema{
			"beside": text, "amount": text, "pairs": count, "positions": count, "above": count, "equal": count, "below": count,
			"withoutOwn": count, "withoutOther": count, "withoutTotal": count,
		}),
	}, "query")), nil
}
