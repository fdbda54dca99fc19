-- Rows that the events up to the checkpoint gave.
SELECT sum(rows) AS n
FROM ingested_events
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
