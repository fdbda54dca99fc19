package mcp

import (
	"context"

	"preismon/query"
	"preismon/query/wire"
)

func listResultChanges() tool {
	return tool{
		name: "list_result_changes", operation: "listResults", required: []string{"since"}, heavy: true,
		arguments: wire.Operation(wire.Changes).Parameters(),
		about: "Compares each product-site pair now with how it was at `since`: one record per pair that differs in price, " +
			"availability, currency or merchant, with before and after, by the offer that latestPerPair gives. Needs a product, order or site, or globalScope; at most " +
			"1,000 pairs. A pair without a new capture is not in it. Follow nextCursor until it is null.",
		words: map[string]string{
			"timezone": "IANA zone of times", "globalScope": "All sites: since at most 168 hours ago, no product, order or site",
		},
		answer: changesAnswer,
		run:    runChanges,
	}
}

func runChanges(ctx context.Context, s *query.Service, c Call) (Result, error) {
	result, err := pages(wire.Changes)(ctx, s, c)
	if err == nil {
		return result, nil
	}
	req, wrong := wire.DecodeChanges(wire.FromArguments(c.Arguments))
	if wrong != nil {
		return Result{}, err
	}
	return Result{}, changesAttempts(ctx, s, c.Principal, req, err)
}

// changesAttempts are those of the read of the newest rows that a read of
// changes is refused as: shares of its pairs.
func changesAttempts(ctx context.Context, s *query.Service, p query.Principal, r query.ChangesRequest, failed error) error {
	a := withAttempts(ctx, s, p, query.ResultsRequest{
		OrderID: r.OrderID, ItemID: r.ItemID, PZN: r.PZN, EAN: r.EAN, ASINLocale: r.ASINLocale, ASIN: r.ASIN, Site: r.Site,
		GlobalScope: r.GlobalScope, CapturedFrom: r.Since, LatestPerPair: true,
	}, failed)
	for _, attempt := range a.attempts {
		if attempt["latestPerPair"] != true {
			a.attempts = nil // what stands for such a read does not stand for this one
			break
		}
		for _, name := range []string{"latestPerPair", "capturedFrom", "capturedTo"} {
			delete(attempt, name)
		}
		attempt["since"] = r.Since
		if r.Timezone != "" {
			attempt["timezone"] = r.Timezone
		}
		if r.Limit != nil {
			attempt["limit"] = *r.Limit
		}
	}
	return a
}

// changesAnswer is a page of changes.
func changesAnswer() (schema, error) {
	text, number := kind("string"), kind("number", "null")
	state := schema{"type": []any{"object", "null"}, "properties": schema{
		"capturedAt": text, "availability": text, "price": number,
		"priceMoney":   kind("object", "null"),
		"currencyCode": kind("string", "null"), "merchant": kind("string", "null"), "coverageState": text,
	}}
	return answerOf(countedSchema(), object(schema{
		"data": listOf(object(schema{
			"itemId": text, "site": text, "change": schema{"enum": anyOf(query.ChangeKinds())}, "before": state, "after": state,
			"priceDifference": number, "priceDifferencePercent": number,
		})),
		"paging": kind("object"),
		"query":  object(schema{"scope": text, "since": text, "until": text, "timezone": text}),
	}, "data", "paging", "query")), nil
}
