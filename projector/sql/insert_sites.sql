-- Catalogue records, by their place in the stream.
INSERT INTO sites (site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market, version)
SELECT site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market, version
FROM input('site String, name String, site_type String, country_code String, currency String, operator String, canonical_country_market Bool, price_comparison_market Bool, version UInt64')
WHERE {{not deposed}}
FORMAT Native
