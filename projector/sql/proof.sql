-- Number of events, and of rows from the floor on, of a range of places, and the sums of the hashes of
-- their ids and places: in order of nothing. By ix_seq of both tables; up to the
-- checkpoint it reads four narrow columns of observations whole.
SELECT sum(e) AS events, sum(es) AS events_sum, sum(r) AS rows, sum(rs) AS rows_sum
FROM (
    SELECT count() AS e, sum(xxHash64(toString(event_id))) AS es, toUInt64(0) AS r, toUInt64(0) AS rs
    FROM ingested_events
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
    UNION ALL
    SELECT
        toUInt64(0), toUInt64(0), count(),
        sum(intHash64(bitXor(intHash64(bitOr(bitShiftLeft(toUInt64(epoch), 32), bitOr(bitShiftLeft(toUInt64(capture), 16), toUInt64(offer)))), seq)))
    FROM observations
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
      AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
)
