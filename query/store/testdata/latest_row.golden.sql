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
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
      AND NOT ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
)
ARRAY JOIN offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, arrayWithConstant(length(offer), tupleElement(arrayMin(arrayMap((is_buy_box, price_minor, shipping_minor, currency, offer) -> (
    NOT (is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)),
    price_minor < 0, price_minor >= 0 AND shipping_minor < 0, if(price_minor < 0, '', toString(currency)),
    if(price_minor < 0 OR shipping_minor < 0, 0, price_minor + shipping_minor), price_minor, offer
), is_buy_box, price_minor, shipping_minor, currency, offer)), 7)) AS standing
WHERE offer = standing
UNION ALL
SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
       epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
FROM observations
WHERE (item, site, captured_at, epoch, seq, capture, offer) IN (
    SELECT item, site, captured_at, epoch, seq, capture, offer
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
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
              AND ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
        )
          AND NOT ((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}))
        GROUP BY item, site
    )
)
    ORDER BY item, site, (
    NOT (is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)),
    price_minor < 0, price_minor >= 0 AND shipping_minor < 0, if(price_minor < 0, '', toString(currency)),
    if(price_minor < 0 OR shipping_minor < 0, 0, price_minor + shipping_minor), price_minor, offer
)
    LIMIT 1 BY item, site
))
WHERE 1
ORDER BY captured_desc, item, site, epoch, seq, capture, offer
LIMIT {limit:UInt64}
-- values
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- version = 3
