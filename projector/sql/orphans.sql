-- Orphans of a table: by ix_seq, where it has that.
SELECT count() AS n
FROM {table}
WHERE {orphan}
