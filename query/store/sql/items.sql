-- Visible items by id. Table items (key item), the caller's pairs.
SELECT item, ean, pzn, asin, asin_locale, name, brand, manufacturer
FROM items FINAL
WHERE item > {after:UInt64}
  AND item IN (SELECT item FROM ({{template "pairs" .}}))
ORDER BY item
LIMIT {limit:UInt64}
