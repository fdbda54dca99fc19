-- Pairs whose newest capture up to the checkpoint is newer than what
-- latest_observations holds. Reads the whole table.
SELECT count() AS n
FROM (
    SELECT item, site, max((captured_at, epoch, seq, capture)) AS newest
    FROM observations
    WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
    GROUP BY item, site
) AS o
LEFT JOIN (
    SELECT item, site, (captured_at, epoch, seq, capture) AS held
    FROM latest_observations FINAL
) AS l USING (item, site)
WHERE newest > held
