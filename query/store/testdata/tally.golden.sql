-- What the rows of a read of results.sql come to, site by site, in one pass.
-- Tables and keys as there.
SELECT
    toString(site), uniqExactMerge(pair_items), sum(n_priced), sum(n_unavailable), sum(n_unknown), min(first_ms), max(last_ms),
    arraySort(groupArrayIf((currency, n_priced, lowest, middle, highest), n_priced > 0)) AS prices,
    sumMap(winners.1, winners.2) AS wins
FROM (
    SELECT
        site, if(priced, toString(currency), '') AS currency,
        uniqExactState(item) AS pair_items,
        countIf(priced) AS n_priced,
        countIf(unavailable) AS n_unavailable,
        countIf(NOT priced AND NOT unavailable) AS n_unknown,
        min(captured_ms) AS first_ms,
        max(captured_ms) AS last_ms,
        minIf(price_minor, priced) AS lowest,
        quantileExactLowIf(0.5)(price_minor, priced) AS middle,
        maxIf(price_minor, priced) AS highest,
        sumMapIf([toString(merchant)], [toUInt64(1)], is_buy_box = 2) AS winners
    FROM (
        SELECT *, outcome_code = 1 AND price_minor >= 0 AS priced, outcome_code IN (2, 3) AS unavailable
        FROM (-- Rows of observations in the order of results: newest first by the negated
-- time, then item, site and place in the stream; ascending is the exact
-- reverse. Windows of a mandate read observations_by_mandate along its key
-- (mandate, captured_desc, item, site); products, and few pairs of a large
-- mandate, read observations by its key (item, site, captured_at); the newest
-- capture of each pair is a row of latest_observations, key (item, site).
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    currency, price_minor, merchant,
    shipping_minor, is_prime, is_buy_box, rating_tenths, manufacturer, delivery_text, title, url
FROM (SELECT item, site, captured_desc,
           epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
    FROM observations_by_mandate
    WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
      AND merchant = {merchant:String})
WHERE 1)
    )
    GROUP BY site, currency
)
GROUP BY site
ORDER BY site

-- values
-- from_ms = 100000000
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- merchant = it's
-- to_ms = 200000000
-- version = 3
