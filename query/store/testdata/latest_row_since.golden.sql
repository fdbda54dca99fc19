-- Rows of observations in the order of results: newest first by the negated
-- time, then item, site and place in the stream; ascending is the exact
-- reverse. Windows of a mandate read observations_by_mandate along its key
-- (mandate, captured_desc, item, site); products, and few pairs of a large
-- mandate, read observations by its key (item, site, captured_at); the newest
-- capture of each pair is a row of latest_observations, key (item, site).
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    currency, price_minor, merchant
FROM (SELECT * FROM (SELECT item, site, captured_desc,
           epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
    FROM observations_by_mandate
    WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND site = {site:String}
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64}))
ORDER BY item, site, captured_desc, epoch DESC, seq DESC, capture DESC, (
    NOT (is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)),
    price_minor < 0, price_minor >= 0 AND shipping_minor < 0, if(price_minor < 0, '', toString(currency)),
    if(price_minor < 0 OR shipping_minor < 0, 0, price_minor + shipping_minor), price_minor, offer
)
LIMIT 1 BY item, site)
WHERE 1
ORDER BY captured_desc, item, site, epoch, seq, capture, offer
LIMIT {limit:UInt64}
-- values
-- from_ms = 1000000
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- site = a.example
-- version = 3
