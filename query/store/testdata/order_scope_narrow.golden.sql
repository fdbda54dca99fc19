-- What the visible pairs of some orders span, counted no further than to
-- at_most. Table scope_pairs, key (mandate, version, item, site).
SELECT
    (SELECT count() FROM (
        SELECT DISTINCT item, arrayJoin(arrayIntersect(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)})) AS order_id
        FROM (SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND hasAny(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)}))
        LIMIT {at_most:UInt64}
    )) AS order_items,
    (SELECT count() FROM (
        SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)}
          AND hasAny(arrayIntersect(orders, {orders:Array(UInt64)}), {wanted:Array(UInt64)})
        LIMIT {at_most:UInt64}
    )) AS candidates
-- values
-- at_most = 10001
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
-- wanted = [2,9]
