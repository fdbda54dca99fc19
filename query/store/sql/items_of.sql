-- Those of some items that the caller sees, by id. Table items (key item), the
-- caller's pairs of these items.
SELECT item, ean, pzn, asin, asin_locale, name, brand, manufacturer
FROM items FINAL
WHERE item IN (
    SELECT item
    FROM ({{template "pairs" .}}
          AND item IN {items:Array(UInt64)})
)
ORDER BY item
LIMIT {limit:UInt64}
