-- Rows of observations in the order of results: newest first by the negated
-- time, then item, site and place in the stream; ascending is the exact
-- reverse. Windows of a mandate read observations_by_mandate along its key
-- (mandate, captured_desc, item, site); products, and few pairs of a large
-- mandate, read observations by its key (item, site, captured_at); the newest
-- capture of each pair is a row of latest_observations, key (item, site).
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    currency, price_minor, merchant
FROM (SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
       epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
FROM (
    SELECT *
    FROM latest_observations FINAL
    WHERE (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)})
      AND NOT ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
)
ARRAY JOIN offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
UNION ALL
SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
       epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
FROM observations
WHERE (item, site, captured_at, epoch, seq, capture) IN (
    SELECT item, site, tupleElement(newest, 1), tupleElement(newest, 2), tupleElement(newest, 3), tupleElement(newest, 4)
    FROM (
        SELECT item, site, max((captured_at, epoch, seq, capture)) AS newest
        FROM observations
        WHERE (item, site) IN (
            SELECT item, site
            FROM latest_observations FINAL
            WHERE (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)})
              AND ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
        )
          AND NOT ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
        GROUP BY item, site
    )
))
WHERE 1
      AND merchant = {merchant:String}
ORDER BY captured_desc, item, site, epoch, seq, capture, offer
LIMIT {limit:UInt64}
-- values
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- merchant = M
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
