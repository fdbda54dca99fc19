-- Those of some items that the caller sees, by id. Table items (key item), the
-- caller's pairs of these items.
SELECT item, ean, pzn, asin, asin_locale, name, brand, manufacturer
FROM items FINAL
WHERE item IN (
    SELECT item
    FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND item IN {items:Array(UInt64)})
)
ORDER BY item
LIMIT {limit:UInt64}

-- values
-- items = [9,10]
-- limit = 101
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
