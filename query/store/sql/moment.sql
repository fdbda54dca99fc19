-- How far each partition of each stream is applied, and when what is in force
-- last changed, and the generation of the rows, and from which capture time on they are kept. Table checkpoints, a row for each, and older ones that are not
-- merged away yet.
SELECT stream, partition, partitions, epoch, seq, floor
FROM {{.All "checkpoints"}}
WHERE stream IN ('OBSERVATIONS', 'CATALOG', 'IN_FORCE', 'GENERATION')
