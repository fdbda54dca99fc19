-- Deletions of rows of a table that are not done.
SELECT count() AS n
FROM system.mutations
WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done AND NOT is_killed
