-- The items of the visible pairs under selectors, by id. Table scope_pairs, key
-- (mandate, version, item, site).
SELECT DISTINCT item
FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND has(arrayIntersect(orders, {orders:Array(UInt64)}), {order:UInt64})
          AND item IN (
            SELECT item
            FROM items FINAL
            WHERE ({item:UInt64} = 0 OR item = {item:UInt64})
              AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
              AND ({pzn:String} = '' OR pzn = {pzn:String})
              AND ({asin:String} = '' OR (asin = {asin:String} AND asin_locale = {asin_locale:String}))
        ))
ORDER BY item
LIMIT {limit:UInt64}

-- values
-- asin = B000000001
-- asin_locale = de
-- eans = []
-- item = 0
-- limit = 61
-- mandate = 7
-- order = 2
-- orders = [1,2]
-- pzn = 
-- sites = ['a.example','b.example']
-- version = 3
