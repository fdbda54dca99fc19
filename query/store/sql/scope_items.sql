-- The items of the visible pairs under selectors, by id. Table scope_pairs, key
-- (mandate, version, item, site).
SELECT DISTINCT item
FROM ({{template "pairs" .}})
ORDER BY item
LIMIT {limit:UInt64}
