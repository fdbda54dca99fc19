-- Captures that no other one of their pair followed for some time, by time,
-- item and site, each as its standing offer. Table observations_by_mandate: the
-- range of the mandate in its key, a few seconds wide where a feed is followed.
-- What followed is read from observations, key (item, site, captured_at), only
-- for pairs of which latest_observations, key (item, site), does not show it.
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    currency, price_minor, merchant,
    shipping_minor, is_buy_box
FROM observations_by_mandate_all
WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND site = {site:String}
      AND (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version IN {versions:Array(UInt64)}
          AND site = {site:String}
          AND item = {item:UInt64})
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
      AND (-captured_desc, item, site) > (-{after_desc:Int64}, {after_item:UInt64}, {after_site:String})
      AND (item, site, captured_desc) IN (
    SELECT item, site, -last
    FROM (
        SELECT item, site, arraySort(groupUniqArray(toUnixTimestamp64Milli(captured_at))) AS times
        FROM observations
        WHERE (item, site) IN (
            SELECT item, site
            FROM observations_by_mandate
            WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND site = {site:String}
      AND (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version IN {versions:Array(UInt64)}
          AND site = {site:String}
          AND item = {item:UInt64})
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
)
          AND (item, site) NOT IN (
            SELECT item, site
            FROM latest_observations
            WHERE (item, site) IN (
            SELECT item, site
            FROM observations_by_mandate
            WHERE mandate = {mandate:UInt64}
      AND captured_desc <= -{from_ms:Int64}
      AND captured_desc >= -{to_ms:Int64}
      AND site = {site:String}
      AND (item, site) IN (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version IN {versions:Array(UInt64)}
          AND site = {site:String}
          AND item = {item:UInt64})
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
)
              AND captured_at > fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
              AND captured_at <= fromUnixTimestamp64Milli({from_ms:Int64} + {silent_ms:Int64}, 'UTC')
              AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
        )
          AND captured_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
          AND captured_at <= fromUnixTimestamp64Milli({to_ms:Int64} + {silent_ms:Int64}, 'UTC')
          AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
        GROUP BY item, site
    )
    ARRAY JOIN times AS last, arrayPushBack(arrayPopFront(times), 9223372036854775807) AS next
    WHERE next - last > {silent_ms:Int64}
)
ORDER BY captured_ms, item, site, epoch DESC, seq DESC, capture DESC, (
    NOT (is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)),
    price_minor < 0, price_minor >= 0 AND shipping_minor < 0, if(price_minor < 0, '', toString(currency)),
    if(price_minor < 0 OR shipping_minor < 0, 0, price_minor + shipping_minor), price_minor, offer
)
LIMIT 1 BY captured_ms, item, site
LIMIT {limit:UInt64}
-- values
-- after_capture = 0
-- after_desc = -1000000
-- after_epoch = 0
-- after_item = 4
-- after_offer = 0
-- after_seq = 0
-- after_site = it's
-- floor_ms = 1500000
-- from_ms = 1500000
-- item = 9
-- limit = 11
-- mandate = 7
-- mark_epoch = 5
-- mark_seq = 99
-- silent_ms = 3600000
-- site = a.example
-- to_ms = 2000000
-- versions = [21,22,23]
