package rest

import (
	"github.com/gin-gonic/gin"

	"preismon/contracts"
	"preismon/query"
)

// siteRecord is a site as callers see it. Who operates it and whether it
// compares prices decide fields of results and are not shown.
type siteRecord struct {
	Site                   contracts.SiteKey  `json:"site"`
	Name                   string             `json:"name"`
	SiteType               contracts.SiteType `json:"siteType"`
	CountryCode            string             `json:"countryCode"`
	CurrencyCode           contracts.Currency `json:"currencyCode"`
	CanonicalCountryMarket bool               `json:"canonicalCountryMarket"`
}

func siteOf(s contracts.Site) siteRecord {
	return siteRecord{
		Site: s.Site, Name: s.Name, SiteType: s.SiteType, CountryCode: s.CountryCode, CurrencyCode: s.CurrencyCode,
		CanonicalCountryMarket: s.CanonicalCountryMarket,
	}
}

// itemRecord is an item as callers see it: every field is there, null when
// the item has none.
type itemRecord struct {
	ItemID       contracts.ItemID `json:"itemId"`
	EAN          *string          `json:"ean"`
	PZN          *string          `json:"pzn"`
	ASIN         *string          `json:"asin"`
	ASINLocale   *string          `json:"asinLocale"`
	Name         *string          `json:"name"`
	Brand        *string          `json:"brand"`
	Manufacturer *string          `json:"manufacturer"`
}

func itemOf(i contracts.Item) itemRecord {
	return itemRecord{
		ItemID: i.ItemID, EAN: orNull(i.EAN), PZN: orNull(i.PZN), ASIN: orNull(i.ASIN), ASINLocale: orNull(i.ASINLocale),
		Name: orNull(i.Name), Brand: orNull(i.Brand), Manufacturer: orNull(i.Manufacturer),
	}
}

func (a *api) sites(c *gin.Context, p query.Principal) error {
	in := parseParams(c.Request.URL.RawQuery)
	req := query.SitesRequest{Limit: in.limit(), Cursor: in.cursor(), Site: in.site()}
	if err := in.err(); err != nil {
		return err
	}
	page, err := a.service.Sites(c.Request.Context(), p, req)
	if err != nil {
		return err
	}
	return a.writeJSON(c, shown(page, siteOf))
}

func (a *api) items(c *gin.Context, p query.Principal) error {
	in := parseParams(c.Request.URL.RawQuery)
	req := query.ItemsRequest{
		Limit: in.limit(), Cursor: in.cursor(), ItemID: id[contracts.ItemID](in, "itemId"),
		EAN: in.ean(), PZN: in.pzn(), ASIN: in.asin(), ASINLocale: in.asinLocale(),
	}
	if err := in.err(); err != nil {
		return err
	}
	page, err := a.service.Items(c.Request.Context(), p, req)
	if err != nil {
		return err
	}
	return a.writeJSON(c, shown(page, itemOf))
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// localeRecord is an ASIN locale as callers see it.
type localeRecord struct {
	ASINLocale string `json:"asinLocale"`
}

func (a *api) asinLocales(c *gin.Context, p query.Principal) error {
	if err := parseParams(c.Request.URL.RawQuery).err(); err != nil {
		return err
	}
	page, err := a.service.ASINLocales(c.Request.Context(), p)
	if err != nil {
		return err
	}
	return a.writeJSON(c, shown(page, func(key string) localeRecord { return localeRecord{key} }))
}

// shown is a page of records as callers see them.
func shown[T, S any](page *query.Page[T], show func(T) S) query.Page[S] {
	data := make([]S, len(page.Data))
	for i, record := range page.Data {
		data[i] = show(record)
	}
	return query.Page[S]{Data: data, Paging: page.Paging, Query: page.Query}
}

func decodeResults(rawQuery string) (query.ResultsRequest, error) {
	in := parseParams(rawQuery)
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
	return req, in.err()
}

func (a *api) results(c *gin.Context, p query.Principal) error {
	req, err := decodeResults(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := a.service.Results(c.Request.Context(), p, req)
	if err != nil {
		return err
	}
	defer page.Rows.Release()
	paging, err := marshal(page.Paging)
	if err != nil {
		return err
	}
	echo, err := marshal(page.Query)
	if err != nil {
		return err
	}
	return a.writeBody(c, []byte(`{"data":[`), page.Rows.JSON(), []byte(`],"paging":`), paging, []byte(`,"query":`), echo, []byte{'}'})
}
