-- How far each partition of each stream is applied, when what is in force last
-- changed, the generation of the rows, from which capture time on they are kept,
-- and how many there are, where that is proven. Table checkpoints, a row for
-- each, and older ones that are not merged away yet; all of them, since a condition
-- takes longer to plan than they take to read.
SELECT stream, partition, partitions, epoch, seq, floor, proven, rows
FROM {{.All "checkpoints"}}
