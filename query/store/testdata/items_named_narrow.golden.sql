-- The visible items that any of some identifiers name, by id. Table items (key
-- item), the caller's pairs; of each item the identifiers alone are looked at.
SELECT item, ean, pzn, asin, asin_locale, '' AS name, '' AS brand, '' AS manufacturer
FROM items FINAL
WHERE (item IN {items:Array(UInt64)}
       OR ean != '' AND ean IN {eans:Array(String)}
       OR pzn != '' AND pzn IN {pzns:Array(String)}
       OR asin != '' AND concat(asin, ' ', asin_locale) IN {asins:Array(String)})
  AND item IN (SELECT item FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}))
ORDER BY item

-- values
-- asins = ['B000000001 de']
-- eans = ['96385074','0000096385074']
-- items = [5,6]
-- mandate = 7
-- orders = [1,2]
-- pzns = ['12345678']
-- sites = ['a.example','b.example']
-- version = 3
