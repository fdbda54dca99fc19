-- Items of the mandate's scope that match identifiers, by id, whether or not
-- the account sees them; of a category, such as it sees. Tables items (skip
-- indexes on identifiers) and scope_pairs, key (mandate, version, item, site).
SELECT item
FROM items FINAL
WHERE item > {after:UInt64}
  AND ({item:UInt64} = 0 OR item = {item:UInt64})
  AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
  AND ({pzn:String} = '' OR pzn = {pzn:String})
  AND ({asin:String} = '' OR asin = {asin:String})
  AND ({asin_locale:String} = '' OR asin_locale = {asin_locale:String})
  AND item IN (
      SELECT item
      FROM scope_pairs
      WHERE mandate = {mandate:UInt64} AND version = {version:UInt64} AND item > {after:UInt64}
  )
  AND item IN (
      SELECT item
      FROM (SELECT item, category
      FROM customer_data FINAL
      WHERE mandate = {mandate:UInt64} AND category != ''
        AND ({category:String} = '' OR category = {category:String})
        AND item IN (SELECT item FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)})))
  )
ORDER BY item
LIMIT {limit:UInt64}

-- values
-- after = 8
-- asin = 
-- asin_locale = de
-- category = it's
-- eans = []
-- item = 0
-- limit = 2001
-- mandate = 7
-- orders = [1,2]
-- pzn = 
-- sites = ['a.example','b.example']
-- version = 3
