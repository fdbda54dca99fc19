-- All pairs of one version of a mandate's scope, before scopes names it.
INSERT INTO scope_pairs (mandate, version, item, site, orders)
SELECT {mandate:UInt64}, {version:UInt64}, item, site, orders
FROM input('item UInt64, site LowCardinality(String), orders Array(UInt64)')
WHERE throwIf((SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) > ({fence:UInt64}, {begun:Int64}), 'deposed') = 0
FORMAT Native
