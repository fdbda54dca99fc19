-- The visible sites of some orders. Table scope_pairs, key (mandate, version, item, site).
SELECT arrayJoin(arrayIntersect(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)})) AS order_id, arraySort(groupUniqArray(toString(site))) AS sites
FROM (SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND hasAny(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)}))
GROUP BY order_id
ORDER BY order_id

-- values
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
-- wanted = [2,9]
