-- Deletions of rows that are not done.
SELECT count() AS n
FROM system.mutations
WHERE database = currentDatabase() AND table IN ('observations', 'observations_by_mandate', 'latest_observations')
  AND NOT is_done AND NOT is_killed
