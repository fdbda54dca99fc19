-- What the tables hold of a range of sequences, and of which capture it is: rows
-- of observations (mandate 0) and of observations_by_mandate by ix_seq, captures
-- of latest_observations (is_row 0) by reading its column seq.
SELECT mandate, seq, capture, offer, is_row, item, site, captured_ms
FROM (
    SELECT toUInt64(0) AS mandate, epoch, seq, capture, offer, toUInt8(1) AS is_row, item, site, toUnixTimestamp64Milli(captured_at) AS captured_ms
    FROM observations
    UNION ALL
    SELECT mandate, epoch, seq, capture, offer, toUInt8(1) AS is_row, item, site, -captured_desc AS captured_ms
    FROM observations_by_mandate
    UNION ALL
    SELECT toUInt64(0) AS mandate, epoch, seq, capture, toUInt16(0) AS offer, toUInt8(0) AS is_row, item, site, toUnixTimestamp64Milli(captured_at) AS captured_ms
    FROM latest_observations
)
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
