package wire

import (
	"cmp"
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodeResults takes the parameters of a results read.
func DecodeResults(in *Params) (query.ResultsRequest, error) {
	req := Selected(in)
	req.GlobalScope = in.flag("globalScope")
	req.Brand, req.Manufacturer, req.Merchant = in.text("brand"), in.text("manufacturer"), in.text("merchant")
	req.IsPrime, req.IsBuyBox, req.CoverageState = in.choice("isPrime"), in.choice("isBuyBox"), in.text("coverageState")
	req.CapturedFrom, req.CapturedTo, req.Sort, req.Timezone = in.text("capturedFrom"), in.text("capturedTo"), in.text("sort"), in.text("timezone")
	req.LatestPerPair, req.LatestObservationPerPair = in.flag("latestPerPair"), in.flag("latestObservationPerPair")
	req.Include = query.Include{
		Coverage: in.flag("includeCoverage"), OrderIDs: in.flag("includeOrderIds"), CustomerData: in.flag("includeCustomerData"),
		ExportFields: in.flag("includeExportFields"), Identity: in.flag("includeIdentity"),
	}
	err := in.Err()
	if err == nil {
		return req, nil
	}
	if in.faulty("globalScope", "capturedFrom", "capturedTo") || in.unknown() {
		req.GlobalScope = false // nothing is known of where
		req.Site = cmp.Or(req.Site, standInSite)
	}
	return req, in.named(req.Faults(err))
}

// Selected takes what every read over results has: its page and its selectors.
func Selected(in *Params) query.ResultsRequest {
	limit, cursor := in.limit(), in.cursor()
	r := selected(in)
	r.Limit, r.Cursor = limit, cursor
	return r
}

// selected takes the selectors alone.
func selected(in *Params) query.ResultsRequest {
	return query.ResultsRequest{
		OrderID: id[contracts.OrderID](in, "orderId"), ItemID: id[contracts.ItemID](in, "itemId"),
		PZN: in.pzn(), EAN: in.ean(), ASINLocale: in.asinLocale(), ASIN: in.asin(), Site: in.site(),
	}
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
