-- Rows that observations_by_mandate should hold up to the checkpoint, for the
-- mandates whose scope is applied: the rows of each pair of each scope.
SELECT sum(o.rows_of_pair) AS n
FROM (
    SELECT item, site, count() AS rows_of_pair
    FROM observations
    WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
    GROUP BY item, site
) AS o
INNER JOIN (
    SELECT item, site
    FROM scope_pairs
    WHERE (mandate, version) IN (SELECT mandate, max(version) FROM scopes GROUP BY mandate)
      AND (mandate, version) IN (SELECT mandate, max(version) FROM scopes_applied WHERE partition = {partition:UInt16} GROUP BY mandate)
) AS s USING (item, site)
