-- How far every table is complete: the least checkpoint of the partitions.
-- Table checkpoints, a row for each partition.
SELECT tupleElement(min(newest), 1) AS epoch, tupleElement(min(newest), 2) AS seq
FROM (SELECT partition, max((epoch, seq)) AS newest FROM checkpoints WHERE stream = 'OBSERVATIONS' GROUP BY partition)
