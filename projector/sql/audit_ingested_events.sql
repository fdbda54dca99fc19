-- Events and different places of events up to the checkpoint.
SELECT count() AS n, uniqExact(epoch, seq) AS distinct_rows
FROM ingested_events
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
