-- The ids of the events at some places of the stream. Table ingested_events,
-- cut down by ix_seq: epochs and sequences stand alone, for an index is of no use
-- to tuples.
SELECT epoch, seq, toString(any(event_id))
FROM ingested_events
WHERE epoch IN {epochs:Array(UInt64)} AND seq IN {seqs:Array(UInt64)}
GROUP BY epoch, seq
ORDER BY epoch, seq
