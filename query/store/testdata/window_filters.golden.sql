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
           epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, manufacturer
    FROM observations_by_mandate
    WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
      AND item IN (SELECT item FROM items FINAL WHERE brand = {brand:String})
      AND manufacturer = {manufacturer:String}
      AND merchant = {merchant:String}
      AND is_prime = {isPrime:UInt8}
      AND is_buy_box = {isBuyBox:UInt8}
      AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)
      AND if(outcome = 'priceObserved' AND price_minor < 0, 0, toUInt8(outcome)) IN {outcomes:Array(UInt8)})
WHERE 1
ORDER BY captured_desc, item, site, epoch, seq, capture, offer
-- values
-- brand = B
-- from_ms = 1000000
-- isBuyBox = 2
-- isPrime = 2
-- mandate = 7
-- manufacturer = M
-- mark_epoch = 5
-- mark_seq = 99
-- merchant = a\\b\t'c'\n\0
-- outcomes = [1]
-- to_ms = 2000000
-- version = 3
