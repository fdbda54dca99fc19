-- The categories of visible items, in order; all, or one of them. Table
-- customer_data, key (mandate, item), the caller's pairs.
SELECT DISTINCT category
FROM (SELECT item, category
      FROM customer_data FINAL
      WHERE mandate = {mandate:UInt64} AND category != ''
        AND ({category:String} = '' OR category = {category:String})
        AND item IN (SELECT item FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})))
ORDER BY category
LIMIT {limit:UInt64}
-- values
-- category = Garden
-- limit = 1
-- mandate = 7
-- version = 3
