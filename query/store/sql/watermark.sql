-- How far every table is complete, by partition. Table checkpoints, a row for
-- each partition, and older ones that are not merged away yet.
SELECT partition, partitions, epoch, seq
FROM {{.All "checkpoints"}}
WHERE stream = 'OBSERVATIONS'
