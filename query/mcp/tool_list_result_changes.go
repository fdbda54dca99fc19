package mcp

import (
	"context"
	"encoding/json"
	"maps"

	"preismon/contracts/openapi"
	"preismon/query"
	"preismon/query/wire"
)

func listResultChanges() tool {
	return tool{
		name: "list_result_changes", title: "What changed", operation: "listResults", records: shapeOf("listMovers"), maxLimit: query.MaxResultsLimit, required: []string{"since"}, heavy: true,
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
	body, err := openapi.AnswerShape("listMovers")
	if err != nil {
		return nil, err
	}
	properties := body["properties"].(schema)
	properties["paging"] = bare(properties["paging"], "object")
	// One of them shows what they are.
	record := properties["data"].(schema)["items"].(schema)["properties"].(schema)
	record["after"] = described(kind("object", "null"), "Like before")
	// The argument kind names those that are counted.
	counts := properties["query"].(schema)["properties"].(schema)
	site := counts["sites"].(schema)["items"].(schema)["properties"].(schema)
	counts["kinds"], site["kinds"] = bare(counts["kinds"], "object"), bare(site["kinds"], "object")
	return answerOf(countedSchema(), body), nil
}
