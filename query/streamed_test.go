package query_test

import (
	"context"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// clerk is a shelf that records which reads say that their rows wait for a
// client.
type clerk struct {
	shelf
	streamed []bool
}

func (c *clerk) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	c.streamed = append(c.streamed, q.Read != nil)
	return c.shelf.Results(ctx, v, q, each)
}

func (c *clerk) CountPairs(context.Context, query.Visibility, query.Selectors) (query.ScopeSize, error) {
	return query.ScopeSize{Pairs: 1, Items: 1, Sites: 1}, nil
}

func (c *clerk) SiteRecords(context.Context) ([]contracts.Site, error) { return nil, nil }

func (c *clerk) ReferencePrices(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.ReferencePrices, error) {
	return nil, nil
}

// TestOnlyStreamsWaitForClients: the store reads only those in pieces, so that
// no client holds a statement open.
func TestOnlyStreamsWaitForClients(t *testing.T) {
	c := &clerk{shelf: shelf{rows: []shelfRow{{item: 7, site: "a", outcome: contracts.Unavailable}}}}
	service := must.Get(query.New(config(), c, time.Now))(t)
	p := query.Principal{Account: 1}
	for name, read := range map[string]func() error{
		"stream":  func() error { return service.StreamResults(t.Context(), p, query.ResultsRequest{Site: "a"}, &taken{}) },
		"results": func() error { _, err := service.Results(t.Context(), p, query.ResultsRequest{Site: "a"}); return err },
		"movers": func() error {
			_, err := service.Movers(t.Context(), p, query.MoversRequest{
				ResultsRequest: query.ResultsRequest{Site: "a"}, Since: time.Now().Add(-time.Hour).Format(time.RFC3339),
			})
			return err
		},
		"position": func() error {
			_, err := service.MarketPosition(t.Context(), p, query.PositionRequest{ItemID: 7, CandidatePrice: "1.00"})
			return err
		},
	} {
		c.streamed = nil
		if err := read(); err != nil || len(c.streamed) == 0 {
			t.Fatalf("%s: %d reads, %v", name, len(c.streamed), err)
		}
		for _, s := range c.streamed {
			if s != (name == "stream") {
				t.Errorf("%s: waits for a client: %v", name, s)
			}
		}
	}
}
