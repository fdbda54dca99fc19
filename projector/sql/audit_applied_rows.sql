-- Rows that observations_by_mandate holds up to the checkpoint, of the
-- mandates whose scope is applied.
SELECT count() AS n
FROM observations_by_mandate
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
  AND mandate IN (
      SELECT mandate FROM (SELECT mandate, max(version) AS v FROM scopes GROUP BY mandate)
      WHERE (mandate, v) IN (SELECT mandate, max(version) FROM scopes_applied WHERE partition = {partition:UInt16} GROUP BY mandate))
