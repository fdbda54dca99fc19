-- Number of deletions of scopes that are not done.
SELECT count() AS n
FROM system.mutations
WHERE database = currentDatabase() AND table = 'scope_pairs' AND NOT is_done AND NOT is_killed
