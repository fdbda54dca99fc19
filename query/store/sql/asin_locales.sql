-- The ASIN locale keys of visible items. Table items (key item), the caller's pairs.
SELECT DISTINCT asin_locale
FROM items FINAL
WHERE asin_locale != ''
  AND item IN (SELECT item FROM ({{template "pairs" .}}))
ORDER BY asin_locale
LIMIT {limit:UInt64}
