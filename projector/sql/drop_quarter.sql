-- Drops a quarter of a table: it reads and writes nothing.
ALTER TABLE {table} DROP PARTITION ID '{quarter}' SETTINGS max_partition_size_to_drop = 0
