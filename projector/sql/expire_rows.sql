-- How many rows of each event behind one place up to another, which is not beyond
-- the checkpoint, were captured in the quarter from floor to next. By partition, one
-- of so many lanes of events. It needs no fence: whoever writes it, and whenever, writes the same.
INSERT INTO expired_rows (epoch, seq, quarter, rows)
SELECT epoch, seq, toStartOfQuarter(captured_at) AS quarter, count()
FROM observations
WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC') AND captured_at < fromUnixTimestamp64Milli({next:Int64}, 'UTC')
  AND (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
  AND seq % {lanes:UInt64} = {lane:UInt64}
GROUP BY epoch, seq, quarter
SETTINGS max_bytes_before_external_group_by = 1073741824
