-- The sites of the visible pairs of some orders. Table scope_pairs, key
-- (mandate, version, item, site). Without an order: more than the limit is
-- refused, and then the reading ends there.
SELECT DISTINCT arrayJoin(arrayIntersect(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)})) AS order_id, site
FROM (SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND hasAny(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)}))
LIMIT {limit:UInt64}

-- values
-- limit = 10001
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
-- wanted = [2,9]
