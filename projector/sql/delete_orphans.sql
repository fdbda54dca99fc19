-- Deletes the orphans of a table. It deletes nothing when a newer leader has
-- begun.
DELETE FROM {table}
WHERE {orphan}
  AND (SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) <= ({fence:UInt64}, {begun:Int64})
