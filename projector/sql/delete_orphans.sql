-- Deletes the orphans of a table. It deletes nothing when a newer leader has
-- begun.
DELETE FROM {table}
WHERE {orphan}
  AND {{leads}}
