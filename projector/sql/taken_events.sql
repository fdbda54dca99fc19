-- Which events were ingested from a range of sequences. By ix_seq.
SELECT seq, event_id
FROM ingested_events
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
