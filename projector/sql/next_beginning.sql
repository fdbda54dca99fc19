-- When a leader that begins now says that it does, in Unix ms: later than every
-- one before of its partition, whatever the clock says.
SELECT toUInt64(greatest(toUnixTimestamp64Milli(now64(3)), max(toUnixTimestamp64Milli(written_at)) + 1)) AS n
FROM leader_fences
WHERE partition = {partition:UInt16}
