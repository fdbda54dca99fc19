-- What is in force for a mandate, and how far every table is complete, by kind
-- and partition: 0 the version of its scope, 1 the version that
-- observations_by_mandate reflects, 2 the checkpoint. Tables scopes and
-- scopes_applied, key mandate; checkpoints, a row for each partition.
SELECT toUInt8(0) AS kind, toUInt16(0) AS partition, toUInt32(0) AS epoch, max(version) AS place
FROM scopes
WHERE mandate = {mandate:UInt64}
UNION ALL
SELECT toUInt8(1), partition, toUInt32(0), max(version)
FROM scopes_applied
WHERE mandate = {mandate:UInt64}
GROUP BY partition
UNION ALL
SELECT toUInt8(2), partition, tupleElement(max((epoch, seq)) AS newest, 1), tupleElement(newest, 2)
FROM checkpoints
WHERE stream = 'OBSERVATIONS'
GROUP BY partition
