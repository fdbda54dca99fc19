-- The pairs of one version of a mandate's scope, by key.
SELECT item, site, orders
FROM scope_pairs
WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
ORDER BY item, site
