-- Deletions of rows of observations_by_mandate that are not done.
SELECT count() AS n
FROM system.mutations
WHERE database = currentDatabase() AND table = 'observations_by_mandate' AND NOT is_done AND NOT is_killed
