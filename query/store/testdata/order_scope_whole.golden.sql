-- What the visible pairs of some orders span, counted no further than to
-- at_most. Table scope_pairs, key (mandate, version, item, site).
SELECT
    (SELECT count() FROM (
        SELECT DISTINCT item, arrayJoin(arrayIntersect(orders, {wanted:Array(UInt64)})) AS order_id
        FROM (SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {wanted:Array(UInt64)}))
        LIMIT {at_most:UInt64}
    )) AS order_items,
    (SELECT count() FROM (
        SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {wanted:Array(UInt64)})
        LIMIT {at_most:UInt64}
    )) AS candidates
-- values
-- at_most = 10001
-- mandate = 7
-- version = 3
-- wanted = [2,9]
