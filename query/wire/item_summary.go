package wire

import (
	"bytes"
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodeItemSummary reads the parameters of the summary of a product; rows
// reports whether its rows are to follow.
func DecodeItemSummary(in *Params) (r query.ItemHistoryRequest, rows bool, err error) {
	r = query.ItemHistoryRequest{
		ItemSummaryRequest: query.ItemSummaryRequest{
			ItemID: itemID(in), Site: in.site(), CapturedFrom: in.text("capturedFrom"), CapturedTo: in.text("capturedTo"),
			OwnMerchant: in.text("ownMerchant"), CandidatePrice: in.text("candidatePrice"), CurrencyCode: contracts.Currency(in.text("currencyCode")),
			Timezone: in.text("timezone"),
		},
		OrderID: id[contracts.OrderID](in, "orderId"), Merchant: in.text("merchant"),
	}
	if rows = in.flag("includeRows"); !rows && (r.OrderID != 0 || r.Merchant != "") {
		in.fault("orderId and merchant narrow the rows of includeRows=true, which is missing.")
	}
	return r, rows, in.Err()
}

// ItemSummary returns what a page about one product shows, without its rows,
// which only a stream has.
func ItemSummary(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req, rows, err := DecodeItemSummary(in)
	if err == nil && rows {
		in.fault("includeRows: the rows come as a stream, which this answer is not. Leave it out, and read the rows as results.")
		err = in.Err()
	}
	return answered(ctx, p, req.ItemSummaryRequest, err, s.ItemSummary)
}

// ItemSummaryLine returns the JSON answer of a summary, on one line.
func ItemSummaryLine(sum *query.ItemSummary) ([]byte, error) {
	answer, err := recordsOf(sum.Data, query.Paging{}, sum.Query)
	if err != nil {
		return nil, err
	}
	pieces, err := answer.Body()
	return append(bytes.Join(pieces, nil), '\n'), err
}

// itemID returns the item of the path.
func itemID(p *Params) contracts.ItemID {
	item, err := contracts.ParseID[contracts.ItemID](p.item)
	if err != nil {
		p.fault("itemId: %s is not a decimal number from 1 to 18446744073709551615.", Quote(p.item))
	}
	return item
}
