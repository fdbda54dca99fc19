-- The size of a scope under selectors. Table scope_pairs, key (mandate, version, item, site).
SELECT count() AS pairs, uniqExact(item) AS items, uniqExact(site) AS sites
FROM (SELECT DISTINCT item, site FROM ({{template "pairs" .}}))
