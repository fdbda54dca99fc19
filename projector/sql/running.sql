-- Statements of this partition's leaders up to this one that still run.
SELECT count() AS n
FROM system.processes
WHERE startsWith(query_id, {prefix:String})
  AND toUInt64OrZero(splitByChar('-', query_id)[2]) <= {fence:UInt64}
  AND current_database = currentDatabase()
