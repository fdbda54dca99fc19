package mcp

import (
	"context"
	"encoding/json"
	"maps"

	"preismon/query"
	"preismon/query/wire"
)

func listResultChanges() tool {
	return tool{
		name: "list_result_changes", operation: "listResults", maxLimit: query.MaxResultsLimit, required: []string{"since"}, heavy: true,
		arguments: wire.Operation(wire.Changes).Parameters(),
		about: "What changed since an instant, or between two, per product-site pair, by the offer that latestPerPair shows: before and after, " +
			"greatest price moves first. query.kinds and query.sites count all pages: for counts alone send limit 1. " +
			"Needs a product, order or site, or globalScope. A pair without a new capture is not in it.",
		words: map[string]string{
			"timezone": "IANA zone of dates and times", "globalScope": "All sites, at most 168 hours; no product, order or site",
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
	return Result{}, changesAttempts(ctx, s, c, req, err)
}

// changesAttempts are those of the read of the newest rows that a read of
// changes is refused as: shares of its pairs.
func changesAttempts(ctx context.Context, s *query.Service, c Call, r query.MoversRequest, failed error) error {
	rows := r.ResultsRequest
	rows.CapturedFrom, rows.LatestPerPair = r.Since, true
	a := withAttempts(ctx, s, c.Principal, rows, failed)
	given := wire.Arguments{}
	if err := json.Unmarshal(c.Arguments, &given); err != nil {
		return failed
	}
	for i, attempt := range a.attempts {
		if attempt["latestPerPair"] != true {
			a.attempts = nil // what stands for such a read does not stand for this one
			break
		}
		for _, name := range []string{"latestPerPair", "capturedFrom", "capturedTo", "globalScope"} {
			delete(attempt, name)
		}
		own := maps.Clone(given)
		for _, name := range []string{"cursor", "globalScope"} {
			delete(own, name)
		}
		maps.Copy(own, attempt)
		a.attempts[i] = own
	}
	return a
}

// changesAnswer is a page of movers.
func changesAnswer() (schema, error) {
	text, number, count := kind("string"), kind("number", "null"), kind("integer")
	side := schema{"type": []any{"object", "null"}, "properties": schema{
		"capturedAt": text, "coverageState": text, "price": number, "totalPrice": number, "currencyCode": kind("string", "null"),
		"merchant": kind("string", "null"), "isBuyBox": kind("boolean", "null"),
	}}
	counts := schema{}
	for _, k := range query.MoverKinds() {
		counts[string(k)] = count
	}
	kinds := object(counts)
	return answerOf(countedSchema(), object(schema{
		"data": listOf(object(schema{
			"itemId": text, "site": text, "kinds": listOf(text), "before": side, "after": side,
			"priceDifference": number, "priceDifferencePercent": number,
		})),
		"paging": kind("object"),
		"query": object(schema{
			"scope": text, "since": text, "until": text, "timezone": text,
			"pairs": count, "captured": count, "untold": count, "moved": count, "listed": count, "kinds": kinds,
			"sites": listOf(object(schema{"site": text, "moved": count, "kinds": kind("object")})),
		}),
	}, "data", "paging", "query")), nil
}
