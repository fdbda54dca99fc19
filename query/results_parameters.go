package query

import "strconv"

// Parameters are those that the request is made of, by name: texts, integers
// and booleans. What is not given is not in them.
func (r ResultsRequest) Parameters() map[string]any {
	p := map[string]any{}
	if r.Limit != nil {
		p["limit"] = *r.Limit
	}
	for name, id := range map[string]uint64{"orderId": uint64(r.OrderID), "itemId": uint64(r.ItemID)} {
		if id != 0 { // as text: not every reader of JSON keeps 64 bits
			p[name] = strconv.FormatUint(id, 10)
		}
	}
	for name, value := range map[string]string{
		"cursor": r.Cursor, "pzn": r.PZN, "ean": r.EAN, "asinLocale": r.ASINLocale, "asin": r.ASIN, "site": string(r.Site),
		"brand": r.Brand, "manufacturer": r.Manufacturer, "merchant": r.Merchant, "coverageState": r.CoverageState,
		"capturedFrom": r.CapturedFrom, "capturedTo": r.CapturedTo, "sort": r.Sort, "timezone": r.Timezone,
	} {
		if value != "" {
			p[name] = value
		}
	}
	for name, value := range map[string]bool{
		"globalScope": r.GlobalScope, "latestPerPair": r.LatestPerPair, "latestObservationPerPair": r.LatestObservationPerPair,
		"includeCoverage": r.Include.Coverage, "includeOrderIds": r.Include.OrderIDs, "includeCustomerData": r.Include.CustomerData,
		"includeExportFields": r.Include.ExportFields, "includeIdentity": r.Include.Identity,
	} {
		if value {
			p[name] = true
		}
	}
	for name, value := range map[string]*bool{"isPrime": r.IsPrime, "isBuyBox": r.IsBuyBox} {
		if value != nil {
			p[name] = *value
		}
	}
	return p
}
