-- How many rows of events were captured in quarters that were below the floor when
-- they came, and were not written.
INSERT INTO expired_rows (epoch, seq, quarter, rows)
SELECT epoch, seq, toStartOfQuarter(fromUnixTimestamp64Milli(quarter_ms, 'UTC')), rows
FROM input('epoch UInt32, seq UInt64, quarter_ms Int64, rows UInt64')
WHERE {{not deposed}}
FORMAT Native
