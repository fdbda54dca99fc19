-- The visible items that any of some identifiers name, by id. Table items (key
-- item), the caller's pairs; of each item the identifiers alone are looked at.
SELECT item, ean, pzn, asin, asin_locale, '' AS name, '' AS brand, '' AS manufacturer
FROM items FINAL
WHERE (item IN {items:Array(UInt64)}
       OR ean != '' AND ean IN {eans:Array(String)}
       OR pzn != '' AND pzn IN {pzns:Array(String)}
       OR asin != '' AND concat(asin, ' ', asin_locale) IN {asins:Array(String)})
  AND item IN (SELECT item FROM ({{template "pairs" .}}))
ORDER BY item
