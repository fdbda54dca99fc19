-- Number of rows behind one place up to another that were captured from floor to next, and the sum
-- of the hashes of their places, as proof.sql has them. By partition.
SELECT
    toUInt64(0) AS events, toUInt64(0) AS events_sum, count() AS rows,
    sum(intHash64(bitXor(intHash64(bitOr(bitShiftLeft(toUInt64(epoch), 32), bitOr(bitShiftLeft(toUInt64(capture), 16), toUInt64(offer)))), seq))) AS rows_sum
FROM observations
WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC') AND captured_at < fromUnixTimestamp64Milli({next:Int64}, 'UTC')
  AND (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
