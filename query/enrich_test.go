package query_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// slowRecords is a shelf whose item records come too late the first time.
type slowRecords struct {
	shelf
	asked int
}

func (s *slowRecords) ItemRecords(ctx context.Context, items []contracts.ItemID) (all []contracts.Item, err error) {
	if s.asked++; s.asked == 1 {
		<-ctx.Done()
		return nil, fault.Wrap(ctx.Err(), fault.Timeout, "Slow.")
	}
	for _, i := range items {
		all = append(all, contracts.Item{ItemID: i, Name: "Soap"})
	}
	return all, nil
}

func (s *slowRecords) CustomerData(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.CustomerData, error) {
	return []contracts.CustomerData{{ItemID: 7, Fields: map[string]string{"sku": "1"}}}, nil
}

// TestEnrichmentAfterAFailure: a page continues in slices when its first
// attempt ran out of time while enriching its rows; the rows of the slices have
// what that attempt did not get.
func TestEnrichmentAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowRecords{shelf: shelf{rows: []shelfRow{{item: 7, site: "a", outcome: contracts.Unavailable}}}}
		service := must.Get(query.New(config(), s, time.Now))(t)
		page := must.Get(service.Results(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{
			Site: "a", Include: query.Include{Identity: true, CustomerData: true},
		}))(t)
		rows := string(page.Rows.JSON())
		for _, want := range []string{`"productName":"Soap"`, `"customerData":{"sku":"1"}`} {
			if !strings.Contains(rows, want) {
				t.Errorf("%s is not in %s", want, rows)
			}
		}
	})
}
