package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodeResults takes the parameters of a results read.
func DecodeResults(in *Params) (query.ResultsRequest, error) {
	req := query.ResultsRequest{
		Limit: in.limit(), Cursor: in.cursor(),
		OrderID: id[contracts.OrderID](in, "orderId"), ItemID: id[contracts.ItemID](in, "itemId"),
		PZN: in.pzn(), EAN: in.ean(), ASINLocale: in.asinLocale(), ASIN: in.asin(), Site: in.site(),
		GlobalScope: in.flag("globalScope"),
		Brand:       in.text("brand"), Manufacturer: in.text("manufacturer"), Merchant: in.text("merchant"),
		IsPrime: in.choice("isPrime"), IsBuyBox: in.choice("isBuyBox"), CoverageState: in.text("coverageState"),
		CapturedFrom: in.text("capturedFrom"), CapturedTo: in.text("capturedTo"), Sort: in.text("sort"), Timezone: in.text("timezone"),
		LatestPerPair: in.flag("latestPerPair"), LatestObservationPerPair: in.flag("latestObservationPerPair"),
		Include: query.Include{
			Coverage: in.flag("includeCoverage"), OrderIDs: in.flag("includeOrderIds"), CustomerData: in.flag("includeCustomerData"),
			ExportFields: in.flag("includeExportFields"), Identity: in.flag("includeIdentity"),
		},
	}
	return req, in.Err()
}

// ResultsBody is the JSON object of a page, in pieces that are good until its
// rows are released.
func ResultsBody(page *query.ResultsPage) ([][]byte, error) {
	paging, err := Marshal(page.Paging)
	if err != nil {
		return nil, err
	}
	echo, err := Marshal(page.Query)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(`{"data":[`), page.Rows.JSON(), []byte(`],"paging":`), paging, []byte(`,"query":`), echo, {'}'}}, nil
}

// Capabilities describes reads of results.
func Capabilities(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	if err := in.Err(); err != nil {
		return nil, err
	}
	return s.Capabilities(ctx, p)
}
