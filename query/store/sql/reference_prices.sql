-- A mandate's own prices of some items. Table reference_prices, key (mandate, item).
SELECT item, prices
FROM reference_prices FINAL
WHERE mandate = {mandate:UInt64} AND item IN {items:Array(UInt64)}
ORDER BY item
