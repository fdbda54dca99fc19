-- Rows of observations that observations_by_mandate lacks, by item, for those
-- pairs of version that without has not: rows are there once or not at all,
-- so that counting them tells. With look, pair by pair, because a batch that
-- failed may have left rows that only observations_by_mandate has: of other
-- pairs than those that lack any. By the key of both.
SELECT item, sum(greatest(of_pair, 0)) AS n, sum(has_pair) AS there
FROM (
    SELECT item, pair_site, sum(lacks) AS of_pair, sum(has) AS has_pair
    FROM (
        SELECT item, if({look:Bool}, toString(site), '') AS pair_site, toInt64(count()) AS lacks, toInt64(0) AS has
        FROM observations
        WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
          AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
          AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {without:UInt64})
        GROUP BY item, pair_site
        UNION ALL
        SELECT item, toString(site) AS pair_site, -toInt64(count()), toInt64(count())
        FROM observations_by_mandate
        WHERE mandate = {mandate:UInt64} AND {look:Bool} AND captured_desc <= -{floor:Int64}
          AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
          AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {without:UInt64})
        GROUP BY item, pair_site
    )
    GROUP BY item, pair_site
)
GROUP BY item
HAVING n > 0
ORDER BY item
