-- The categories of visible items, in order; all, or one of them. Table
-- customer_data, key (mandate, item), the caller's pairs.
SELECT DISTINCT category
FROM (SELECT item, category
      FROM customer_data FINAL
      WHERE mandate = {mandate:UInt64} AND category != ''
        AND ({category:String} = '' OR category = {category:String})
        AND item IN (SELECT item FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)})))
ORDER BY category
LIMIT {limit:UInt64}
-- values
-- category = 
-- limit = 1001
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
