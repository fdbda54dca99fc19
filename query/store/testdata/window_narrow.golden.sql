-- Rows of observations in the order of results: newest first by the negated
-- time, then item, site and place in the stream; ascending is the exact
-- reverse. Windows of a mandate read observations_by_mandate along its key
-- (mandate, captured_desc, item, site); products, and few pairs of a large
-- mandate, read observations by its key (item, site, captured_at); the newest
-- capture of each pair is a row of latest_observations, key (item, site).
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    currency, price_minor, merchant
FROM (SELECT item, site, captured_desc,
           epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
    FROM observations_by_mandate
    WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND hasAny(orders, {orders:Array(UInt64)})
          AND site IN {sites:Array(String)})
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64}))
WHERE 1
  AND captured_desc <= {after_desc:Int64}
  AND (captured_desc, item, site, epoch, seq, capture, offer) < ({after_desc:Int64}, {after_item:UInt64}, {after_site:String}, {after_epoch:UInt32}, {after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16})
ORDER BY captured_desc DESC, item DESC, site DESC, epoch DESC, seq DESC, capture DESC, offer DESC
LIMIT {limit:UInt64}
-- values
-- after_capture = 7
-- after_desc = -1500000
-- after_epoch = 5
-- after_item = 4
-- after_offer = 8
-- after_seq = 6
-- after_site = it's
-- from_ms = 1000000
-- limit = 101
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- to_ms = 2000000
-- version = 3
