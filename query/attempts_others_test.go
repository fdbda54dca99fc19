package query_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// Statistics by product and positions are narrowed by product where that
// suffices, so that no record is of a part of a product; other statistics by
// site, and parts of the window only where sites have too many buckets.
func TestAttemptsOfOtherReads(t *testing.T) {
	const day, week = "2026-03-07T12:00:00Z 2026-03-08T12:00:00Z", "sets 2026-03-01T12:00:00Z 2026-03-08T12:00:00Z"
	two := map[contracts.SiteKey]int{"a": 2, "b": 2}
	many := map[contracts.SiteKey]int{"a": 70, "b": 70}
	stats := func(r query.StatisticsRequest) func(*query.Service) ([]query.ResultsRequest, error) {
		return func(s *query.Service) ([]query.ResultsRequest, error) {
			_, refused := s.Statistics(t.Context(), query.Principal{Account: 1}, r)
			return s.StatisticsAttempts(t.Context(), query.Principal{Account: 1}, r, refused)
		}
	}
	positions := func(r query.PositionsRequest) func(*query.Service) ([]query.ResultsRequest, error) {
		return func(s *query.Service) ([]query.ResultsRequest, error) {
			_, refused := s.Positions(t.Context(), query.Principal{Account: 1}, r)
			return s.PositionAttempts(t.Context(), query.Principal{Account: 1}, r, refused)
		}
	}
	hours := query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-01-01T00:00:00Z", CapturedTo: "2026-02-28T23:59:59.999Z"}
	for name, c := range map[string]struct {
		ask   func(*query.Service) ([]query.ResultsRequest, error)
		items map[contracts.SiteKey]int
		guard int
		want  []string
	}{
		"by product":                {stats(query.StatisticsRequest{}), two, 3, []string{"1 " + day, "2 " + day}},
		"by product, many":          {stats(query.StatisticsRequest{}), many, 70, []string{"a " + day, "b " + day}},
		"by site":                   {stats(query.StatisticsRequest{By: query.BySite}), two, 3, []string{"a " + day, "b " + day}},
		"by site and product":       {stats(query.StatisticsRequest{By: query.BySite}), two, 1, []string{"a 1 " + day, "a 2 " + day, "b 1 " + day, "b 2 " + day}},
		"positions":                 {positions(query.PositionsRequest{}), two, 3, []string{"1 " + week, "2 " + week}},
		"positions, many":           {positions(query.PositionsRequest{OwnMerchant: "M"}), many, 70, []string{"a " + week, "b " + week}},
		"positions of a site, many": {positions(query.PositionsRequest{OwnSite: "a"}), many, 70, nil},
		"too many buckets at a site": {stats(query.StatisticsRequest{ResultsRequest: hours, By: query.BySite, Bucket: "hour"}), map[contracts.SiteKey]int{"a": 1}, 0, []string{
			"a 2026-02-26T00:00:00Z 2026-02-28T23:59:59.999Z", "a 2026-02-19T00:00:00Z 2026-02-25T23:59:59.999Z", "a 2026-02-12T00:00:00Z 2026-02-18T23:59:59.999Z",
			"a 2026-02-05T00:00:00Z 2026-02-11T23:59:59.999Z", "a 2026-01-29T00:00:00Z 2026-02-04T23:59:59.999Z", "a 2026-01-22T00:00:00Z 2026-01-28T23:59:59.999Z",
			"a 2026-01-15T00:00:00Z 2026-01-21T23:59:59.999Z", "a 2026-01-08T00:00:00Z 2026-01-14T23:59:59.999Z", "a 2026-01-01T00:00:00Z 2026-01-07T23:59:59.999Z",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.ScanGuardMaxPairs = c.guard
			service := must.Get(query.New(cfg, &pairs{items: c.items}, func() time.Time { return time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC) }))(t)
			var got []string
			for _, a := range must.Get(c.ask(service))(t) {
				got = append(got, shown(a))
			}
			equals.Check(t, c.want, got)
		})
	}
}
