-- A mandate's own words about some items. Table customer_data, key (mandate, item).
SELECT item, category, fields
FROM customer_data FINAL
WHERE mandate = {mandate:UInt64} AND item IN {items:Array(UInt64)}
ORDER BY item
