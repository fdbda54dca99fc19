package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// ItemSummary tells of one product what a page about it shows.
func ItemSummary(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.ItemSummaryRequest{
		ItemID: itemID(in), Site: in.site(), CapturedFrom: in.text("capturedFrom"), CapturedTo: in.text("capturedTo"),
		OwnMerchant: in.text("ownMerchant"), CandidatePrice: in.text("candidatePrice"), CurrencyCode: contracts.Currency(in.text("currencyCode")),
		Timezone: in.text("timezone"),
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	sum, err := s.ItemSummary(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return recordsOf(sum.Data, query.Paging{}, sum.Query)
}

// itemID takes the item of the path.
func itemID(p *Params) contracts.ItemID {
	item, err := contracts.ParseID[contracts.ItemID](p.item)
	if err != nil {
		p.fault("itemId: %s is not a decimal number from 1 to 18446744073709551615.", Quote(p.item))
	}
	return item
}
