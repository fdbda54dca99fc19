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
    FROM observations
    WHERE item IN (
            SELECT item
            FROM items FINAL
            WHERE ({item:UInt64} = 0 OR item = {item:UInt64})
              AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
              AND ({pzn:String} = '' OR pzn = {pzn:String})
              AND ({asin:String} = '' OR (asin = {asin:String} AND asin_locale = {asin_locale:String}))
        )
      AND captured_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND captured_at <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      AND site = {site:String}
      AND (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64}
          AND site = {site:String}
          AND item IN (
            SELECT item
            FROM items FINAL
            WHERE ({item:UInt64} = 0 OR item = {item:UInt64})
              AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
              AND ({pzn:String} = '' OR pzn = {pzn:String})
              AND ({asin:String} = '' OR (asin = {asin:String} AND asin_locale = {asin_locale:String}))
        ))
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64}))
WHERE 1
ORDER BY captured_desc, item, site, epoch, seq, capture, offer
LIMIT {limit:UInt64}
-- values
-- asin = 
-- asin_locale = 
-- eans = ['4006381333931','04006381333931']
-- from_ms = 1000000
-- item = 0
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- pzn = 
-- site = a.example
-- to_ms = 2000000
-- version = 3
