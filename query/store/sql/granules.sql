-- About how many rows a mandate has in each part of a window, in the order of
-- the key, by the granules that begin there; and, as part -1, how many rows of
-- granules that began before may be in any part: one of each part of the table
-- that has rows of the window's quarters, by its name. Primary index of observations_by_mandate (mandate, captured_desc): no row is
-- read.
SELECT part, sum(n) AS n
FROM (
    SELECT intDiv(captured_desc - {low:Int64}, {step:Int64}) AS part, rows_in_granule AS n
    FROM mergeTreeIndex(currentDatabase(), 'observations_by_mandate')
    WHERE mandate = {mandate:UInt64} AND captured_desc >= {low:Int64} AND captured_desc <= {high:Int64}
    UNION ALL
    SELECT -1, max(rows_in_granule)
    FROM mergeTreeIndex(currentDatabase(), 'observations_by_mandate')
    WHERE (splitByChar('_', part_name)[1] AS quarter) = 'all' OR quarter BETWEEN {first_quarter:String} AND {last_quarter:String}
    GROUP BY part_name
)
GROUP BY part
ORDER BY part
