-- Pairs whose newest capture has other rows in latest_observations than in
-- observations. Reads both tables.
SELECT count() AS n, any(item) AS item, any(site) AS site
FROM (
    SELECT item, toString(site) AS site
    FROM (
        SELECT item, site, xxHash64({text}) AS row, 1 AS side
        FROM latest_observations FINAL
        ARRAY JOIN
            offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title,
            url, delivery_text
        WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}) AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
        UNION ALL
        SELECT item, site, xxHash64({text}) AS row, -1 AS side
        FROM observations
        WHERE (item, site, captured_at, epoch, seq, capture) IN (
            SELECT item, site, captured_at, epoch, seq, capture FROM latest_observations FINAL
            WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}) AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC'))
    )
    GROUP BY item, site
    HAVING sum(side) != 0 OR sum(toInt128(row) * side) != 0
)
