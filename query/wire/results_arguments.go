package wire

import (
	"strconv"

	"preismon/query"
)

// Arguments are the parameters of a request as the members of a JSON object.
type Arguments map[string]any

// ResultsArguments are the arguments that DecodeResults makes a request of:
// the shortest, so what is not given is not in them.
func ResultsArguments(r query.ResultsRequest) Arguments {
	a := Arguments{}
	if r.Limit != nil {
		a["limit"] = *r.Limit
	}
	a.id("orderId", uint64(r.OrderID))
	a.id("itemId", uint64(r.ItemID))
	for name, value := range map[string]string{
		"cursor": r.Cursor, "pzn": r.PZN, "ean": r.EAN, "asinLocale": r.ASINLocale, "asin": r.ASIN, "site": string(r.Site),
		"brand": r.Brand, "manufacturer": r.Manufacturer, "merchant": r.Merchant, "coverageState": r.CoverageState,
		"capturedFrom": r.CapturedFrom, "capturedTo": r.CapturedTo, "sort": r.Sort, "timezone": r.Timezone,
	} {
		if value != "" {
			a[name] = value
		}
	}
	for name, value := range map[string]bool{
		"globalScope": r.GlobalScope, "latestPerPair": r.LatestPerPair, "latestObservationPerPair": r.LatestObservationPerPair,
		"includeCoverage": r.Include.Coverage, "includeOrderIds": r.Include.OrderIDs, "includeCustomerData": r.Include.CustomerData,
		"includeExportFields": r.Include.ExportFields, "includeIdentity": r.Include.Identity,
	} {
		if value {
			a[name] = true
		}
	}
	for name, value := range map[string]*bool{"isPrime": r.IsPrime, "isBuyBox": r.IsBuyBox} {
		if value != nil {
			a[name] = *value
		}
	}
	return a
}

// id adds an id, as text: not every reader of JSON keeps 64 bits.
func (a Arguments) id(name string, id uint64) {
	if id != 0 {
		a[name] = strconv.FormatUint(id, 10)
	}
}
