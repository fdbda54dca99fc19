-- Pairs by what is wrong with latest_observations: its newest capture up to
-- the checkpoint is missing or older than that of observations, or is one
-- that observations has not. Reads both tables.
SELECT what, count() AS n, any(i) AS item, any(s) AS site
FROM (
    SELECT
        coalesce(nullIf(o.item, 0), l.item) AS i, coalesce(nullIf(toString(o.site), ''), toString(l.site)) AS s,
        multiIf(l.item = 0, 'missing', l.held < o.newest, 'older', 'unknown') AS what
    FROM (
        SELECT item, site, max((captured_at, epoch, seq, capture)) AS newest
        FROM observations
        WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
          AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
        GROUP BY item, site
    ) AS o
    FULL OUTER JOIN (
        SELECT item, site, (captured_at, epoch, seq, capture) AS held
        FROM latest_observations FINAL
        WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
    ) AS l ON o.item = l.item AND o.site = l.site
    WHERE (l.item = 0 OR l.held != o.newest)
      AND NOT (l.item != 0 AND (o.item = 0 OR l.held > o.newest) AND (tupleElement(l.held, 2), tupleElement(l.held, 3)) > ({epoch:UInt32}, {seq:UInt64}))
)
GROUP BY what
ORDER BY what
