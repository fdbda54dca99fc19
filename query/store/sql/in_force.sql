-- What is in force for a mandate: the version of its scope, and, applied, the
-- version that observations_by_mandate reflects, by partition. Tables scopes
-- and scopes_applied, key mandate. Rows of older versions that are not merged
-- away yet come too: a few, and an aggregation would take as long again as
-- the reading.
SELECT false AS applied, toUInt16(0) AS partition, version
FROM {{.All "scopes"}}
WHERE mandate = {mandate:UInt64}
UNION ALL
SELECT true, partition, version
FROM {{.All "scopes_applied"}}
WHERE mandate = {mandate:UInt64}
