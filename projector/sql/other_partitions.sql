-- Who else wrote these tables: another partition, or this one when there were
-- more or fewer (0: it is not known of how many). At most one row is given.
SELECT partition, partitions
FROM (
    SELECT partition, partitions
    FROM checkpoints
    WHERE partition != {partition:UInt16} OR partitions != {partitions:UInt32}
    UNION ALL
    SELECT partition, toUInt32(0) AS partitions
    FROM leader_fences
    WHERE partition != {partition:UInt16}
)
ORDER BY partitions DESC, partition
LIMIT 1
