-- The newest fence of a partition.
SELECT max(fence) AS n
FROM leader_fences
WHERE partition = {partition:UInt16}
