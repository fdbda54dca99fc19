-- The facts of all sites. Table sites.
SELECT site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market
FROM sites FINAL
ORDER BY site
