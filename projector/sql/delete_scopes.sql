-- Deletes scopes that were replaced long ago.
DELETE FROM scope_pairs
WHERE ({which})
  AND (SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) <= ({fence:UInt64}, {begun:Int64})
