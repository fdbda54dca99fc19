-- The size of a scope under selectors, and how many pairs its mandate has. Table
-- scope_pairs, key (mandate, version, item, site).
SELECT
    count() AS pairs, uniqExact(item) AS items, uniqExact(site) AS sites,
    (SELECT count() FROM scope_pairs WHERE mandate = {mandate:UInt64} AND {{template "version" .}}) AS pairs_of_mandate
FROM (SELECT DISTINCT item, site FROM ({{template "pairs" .}}))
