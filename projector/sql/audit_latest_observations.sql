-- Pairs, and different pairs. Reads the whole table.
SELECT count() AS n, uniqExact(item, site) AS distinct_rows
FROM latest_observations FINAL
