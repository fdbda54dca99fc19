-- Different events up to the checkpoint.
SELECT uniqExact(event_id) AS n
FROM ingested_events
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
