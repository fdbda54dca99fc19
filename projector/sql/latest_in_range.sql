-- The captures of a range of sequences that latest_observations holds, as rows.
-- Reads its column seq.
SELECT toUInt64(0) AS mandate, seq, capture, toUInt16(0) AS offer, item, site, toUnixTimestamp64Milli(captured_at) AS captured_ms
FROM latest_observations
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
  AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
