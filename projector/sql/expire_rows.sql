-- How many rows of each event up to the checkpoint were captured in the quarter from
-- floor to next. By partition.
INSERT INTO expired_rows (epoch, seq, quarter, rows)
SELECT epoch, seq, toStartOfQuarter(captured_at) AS quarter, count()
FROM observations
WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC') AND captured_at < fromUnixTimestamp64Milli({next:Int64}, 'UTC')
  AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
  AND throwIf((SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) > ({fence:UInt64}, {begun:Int64}), 'deposed') = 0
GROUP BY epoch, seq, quarter
SETTINGS max_bytes_before_external_group_by = 1073741824
