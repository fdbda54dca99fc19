-- The ids of the events at some places of the stream. Table ingested_events of
-- each shard, cut down by ix_seq: epochs and sequences stand alone, for an index
-- is of no use to tuples. An event with rows on several shards is known to each.
SELECT epoch, seq, toString(any(event_id))
FROM {{.All "ingested_events"}}
WHERE epoch IN {epochs:Array(UInt64)} AND seq IN {seqs:Array(UInt64)}
GROUP BY epoch, seq
ORDER BY epoch, seq
