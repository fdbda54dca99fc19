package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// siteRecord is a site as callers see it. Its operator and whether it compares
// prices affect fields of results and are not shown.
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

// itemRecord is an item as callers see it: every field is present, null if the
// item has none.
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

// Sites lists visible sites.
func Sites(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req := query.SitesRequest{Limit: in.limit(), Cursor: in.cursor(), Site: in.site()}
	return list(ctx, p, in, req, s.Sites, siteOf)
}

// Items lists visible items.
func Items(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	return list(ctx, p, in, itemsRequest(in), s.Items, itemOf)
}

// SearchItems lists visible items like Items, and accepts names and categories
// too.
func SearchItems(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req := itemsRequest(in)
	req.Name, req.Category, req.DiscoverCategories = in.text("name"), in.text("category"), in.flag("discoverCategories")
	return list(ctx, p, in, req, s.Items, itemOf)
}

func itemsRequest(in *Params) query.ItemsRequest {
	return query.ItemsRequest{
		Limit: in.limit(), Cursor: in.cursor(), ItemID: id[contracts.ItemID](in, "itemId"),
		EAN: in.text("ean"), PZN: in.text("pzn"), ASIN: in.text("asin"), ASINLocale: in.text("asinLocale"),
	}
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

// ASINLocales lists the marketplace locales of visible items.
func ASINLocales(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	if err := in.Err(); err != nil {
		return nil, err
	}
	page, err := s.ASINLocales(ctx, p)
	if err != nil {
		return nil, err
	}
	return shown(page, func(key string) localeRecord { return localeRecord{key} }), nil
}

// list reads a page, if the request has no faults, and shows its records.
func list[R interface{ Faults(form error) error }, T, S any](ctx context.Context, p query.Principal, in *Params, req R,
	call func(context.Context, query.Principal, R) (*query.Page[T], error), show func(T) S,
) (any, error) {
	if err := in.refused(req); err != nil {
		return nil, err
	}
	page, err := call(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return shown(page, show), nil
}

// shown returns a page of records as callers see them.
func shown[T, S any](page *query.Page[T], show func(T) S) *query.Page[S] {
	data := make([]S, len(page.Data))
	for i, record := range page.Data {
		data[i] = show(record)
	}
	return &query.Page[S]{Data: data, Paging: page.Paging, Query: page.Query, Search: page.Search}
}
