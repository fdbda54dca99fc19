-- How many visible pairs each site has under selectors. Table scope_pairs, key
-- (mandate, version, item, site).
SELECT site, uniqExact(item) AS pairs
FROM ({{template "pairs" .}})
GROUP BY site
ORDER BY site
