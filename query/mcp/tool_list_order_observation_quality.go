package mcp

import (
	"context"
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// qualitySummary counts the pairs of an order, whatever their reason.
type qualitySummary struct {
	Returned int `json:"returned"`
	// Sites are those of all pages, each a qualitySite; none on later pages, or if
	// there are too many pairs to count.
	Sites      []json.RawMessage `json:"sites,omitempty"`
	OtherSites int               `json:"otherSites,omitempty"` // how many are not listed
}

// qualitySite counts the pairs of a site.
type qualitySite struct {
	Site           string         `json:"site"`
	Reasons        map[string]int `json:"reasons"`
	LastCapturedAt *string        `json:"lastCapturedAt,omitempty"`
	NextDueAt      *string        `json:"nextDueAt,omitempty"`
	LateSince      *string        `json:"lateSince,omitempty"`
}

// quality reads a page without the counts.
func quality(ctx context.Context, s *query.Service, p query.Principal, in *wire.Params) (any, error) {
	page, _, err := wire.ItemQuality(ctx, s, p, in)
	return page, err
}

// runQuality reads a page with the counts of all pairs.
func runQuality(ctx context.Context, s *query.Service, c Call) (Result, error) {
	var sum qualitySummary
	page := func(ctx context.Context, s *query.Service, p query.Principal, in *wire.Params) (any, error) {
		body, sites, err := wire.ItemQuality(ctx, s, p, in)
		if sites != nil {
			sum = qualitySites(sites, listRoom(in.Given("limit")))
		}
		return body, err
	}
	return summed(page, func(returned int) any {
		sum.Returned = returned
		return sum
	})(ctx, s, c)
}

// qualitySites lists sites as far as they fit the room in bytes; the first one
// always does.
func qualitySites(sites []query.SiteStatus, room int) (sum qualitySummary) {
	for i, site := range sites {
		one := marshal(qualitySite{string(site.Site), site.Reasons.ByCode(), site.LastCapturedAt, site.NextDueAt, site.LateSince})
		if room -= len(one) + len(","); room < 0 && len(sum.Sites) > 0 {
			sum.OtherSites = len(sites) - i
			break
		}
		sum.Sites = append(sum.Sites, one)
	}
	return sum
}

// qualityShape returns the body of REST, with the time when the next capture of
// each pair is due.
func qualityShape(body schema) schema {
	record := body["properties"].(schema)["data"].(schema)["items"].(schema)["properties"].(schema)
	record["nextDueAt"] = described(kind("string"), "When the next is, or was, due; absent: not known")
	return body
}

func qualityAnswer(body schema) schema {
	text := func(about string) schema { return described(kind("string"), about) }
	return answerOf(summarySchema("Counts of the pairs", schema{
		"sites": described(listOf(object(schema{
			"site": text("Site key"), "reasons": described(kind("object"), "Pairs by reasonCode, of all pages"), "lastCapturedAt": text("Newest capture"),
			"nextDueAt": text("Next due"), "lateSince": text("First that did not come"),
		})), "By key, on the first page"),
		"otherSites": described(kind("integer"), "Further sites, not listed"),
	}), brief(qualityShape(body)))
}
