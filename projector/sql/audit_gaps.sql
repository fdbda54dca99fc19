-- Sequences up to the checkpoint, in the newest incarnation, without an event.
SELECT toUInt64({seq:UInt64} - count()) AS n
FROM ingested_events
WHERE epoch = {epoch:UInt32} AND seq <= {seq:UInt64}
