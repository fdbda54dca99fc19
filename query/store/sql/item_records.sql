-- Items by id. Table items (key item).
SELECT item, ean, pzn, asin, asin_locale, name, brand, manufacturer
FROM items FINAL
WHERE item IN {items:Array(UInt64)}
ORDER BY item
