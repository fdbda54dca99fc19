-- All pairs of one version of a mandate's scope, before scopes names it.
INSERT INTO scope_pairs (mandate, version, item, site, orders)
SELECT {mandate:UInt64}, {version:UInt64}, item, site, orders
FROM input('item UInt64, site LowCardinality(String), orders Array(UInt64)')
WHERE {{not deposed}}
FORMAT Native
