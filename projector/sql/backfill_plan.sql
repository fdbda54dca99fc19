-- Rows of observations that observations_by_mandate lacks, by item, for those
-- pairs of version that without has not: rows are there once or not at all,
-- so that counting them tells. By the key of both.
SELECT item, sum(lacks) AS n, sum(has) AS there
FROM (
    SELECT item, toInt64(count()) AS lacks, toInt64(0) AS has
    FROM observations
    WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
      AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
      AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {without:UInt64})
    GROUP BY item
    UNION ALL
    SELECT item, -toInt64(count()), toInt64(count())
    FROM observations_by_mandate
    WHERE mandate = {mandate:UInt64} AND {look:Bool} AND captured_desc <= -{floor:Int64}
      AND (item, site) IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
      AND (item, site) NOT IN (SELECT item, site FROM scope_pairs WHERE mandate = {mandate:UInt64} AND version = {without:UInt64})
    GROUP BY item
)
GROUP BY item
HAVING sum(lacks) > 0
ORDER BY item
