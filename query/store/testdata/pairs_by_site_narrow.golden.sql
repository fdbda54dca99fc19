-- How many visible pairs each site has under selectors. Table scope_pairs, key
-- (mandate, version, item, site).
SELECT site, uniqExact(item) AS pairs
FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND has(arrayIntersect(orders, {orders:Array(UInt64)}), {order:UInt64})
          AND site = {site:String}
          AND item IN (
            SELECT item
            FROM items FINAL
            WHERE ({item:UInt64} = 0 OR item = {item:UInt64})
              AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
              AND ({pzn:String} = '' OR pzn = {pzn:String})
              AND ({asin:String} = '' OR (asin = {asin:String} AND asin_locale = {asin_locale:String}))
        ))
GROUP BY site
ORDER BY site

-- values
-- asin = 
-- asin_locale = 
-- eans = ['96385074','000096385074','0000096385074','00000096385074']
-- item = 0
-- mandate = 7
-- order = 2
-- orders = [1,2]
-- pzn = 
-- site = it's
-- sites = ['a.example','b.example']
-- version = 3
