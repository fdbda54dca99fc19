package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"preismon/query"
	"preismon/query/wire"
)

func runChanges(ctx context.Context, s *query.Service, c Call) (Result, error) {
	var sum changesSummary
	page := func(ctx context.Context, s *query.Service, p query.Principal, in *wire.Params) (any, error) {
		body, err := wire.Changes(ctx, s, p, in)
		if movers, ok := body.(*query.MoversPage); ok && err == nil {
			movers.Query.Sites, sum.OtherSites = mostMoved(movers.Query.Sites, listRoom(in.Given("limit")))
		}
		return body, err
	}
	result, err := summed(page, func(returned int) any {
		sum.Returned = returned
		return sum
	})(ctx, s, c)
	if err == nil {
		return result, nil
	}
	req, wrong := wire.DecodeChanges(c.params())
	if wrong != nil {
		return Result{}, err
	}
	return Result{}, changesAttempts(ctx, s, c, req, err)
}

// changesSummary counts what is shown, and what had no room.
type changesSummary struct {
	Returned   int `json:"returned"`
	OtherSites int `json:"otherSites,omitempty"` // with changes, but not listed by query.sites
}

// mostMoved returns the sites with the most changes, by key, as far as they fit
// the room in bytes, and how many others there are.
func mostMoved(sites []query.MoversOfSite, room int) ([]query.MoversOfSite, int) {
	listed := []query.MoversOfSite{}
	for _, site := range slices.SortedStableFunc(slices.Values(sites), func(a, b query.MoversOfSite) int { return cmp.Compare(b.Moved, a.Moved) }) {
		if room -= len(marshal(site)) + len(","); room < 0 && len(listed) > 0 {
			continue
		}
		listed = append(listed, site)
	}
	slices.SortFunc(listed, func(a, b query.MoversOfSite) int { return cmp.Compare(a.Site, b.Site) })
	return listed, len(sites) - len(listed)
}

// changesAttempts adds attempts to a failed read of changes: each is the call
// itself for a share of its pairs.
func changesAttempts(ctx context.Context, s *query.Service, c Call, r query.MoversRequest, failed error) error {
	a := withAttempts(ctx, c, r.ResultsRequest, failed, func(ctx context.Context) ([]query.ResultsRequest, error) {
		return s.MoverAttempts(ctx, c.Principal, r, failed)
	})
	given := wire.Arguments{}
	if err := json.Unmarshal(c.Arguments, &given); err != nil {
		return failed
	}
	for i, attempt := range a.attempts {
		for _, name := range []string{"latestPerPair", "capturedFrom", "capturedTo"} {
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

// changesAnswer returns the schema of a page of movers.
func changesAnswer(body schema) schema {
	properties := body["properties"].(schema)
	properties["paging"] = bare(properties["paging"], "object")
	// The member before describes both.
	record := properties["data"].(schema)["items"].(schema)["properties"].(schema)
	record["after"] = described(kind("object", "null"), "Like before")
	// The argument kind lists the kinds that are counted.
	counts := properties["query"].(schema)["properties"].(schema)
	site := counts["sites"].(schema)["items"].(schema)["properties"].(schema)
	counts["kinds"], site["kinds"] = bare(counts["kinds"], "object"), bare(site["kinds"], "object")
	return answerOf(summarySchema("Of this answer", schema{
		"otherSites": described(kind("integer"), "With fewer changes, not in query.sites"),
	}), body)
}
