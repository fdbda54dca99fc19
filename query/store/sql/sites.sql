-- Visible sites by key. Table sites (key site), the caller's pairs.
SELECT site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market
FROM sites FINAL
WHERE site > {after:String}
  AND site IN (SELECT site FROM ({{template "pairs" .}}))
ORDER BY site
LIMIT {limit:UInt64}
