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
ORDER BY item
LIMIT {limit:UInt64}

-- values
-- after = 8
-- asin = B000000001
-- asin_locale = de
-- eans = ['96385074','000096385074','0000096385074','00000096385074']
-- item = 0
-- limit = 2001
-- mandate = 7
-- orders = [1,2]
-- pzn = 
-- sites = ['a.example','b.example']
-- version = 3
