-- Rows of a range of sequences, and of which capture they are, where the external
-- table places has sequence and mandate; mandate 0 stands for observations. By
-- ix_seq of both tables.
SELECT mandate, seq, capture, offer, item, site, captured_ms
FROM (
    SELECT toUInt64(0) AS mandate, epoch, seq, capture, offer, item, site, toUnixTimestamp64Milli(captured_at) AS captured_ms
    FROM observations
    WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
    UNION ALL
    SELECT mandate, epoch, seq, capture, offer, item, site, -captured_desc AS captured_ms
    FROM observations_by_mandate
    WHERE captured_desc <= -{floor:Int64}
)
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64} AND (seq, mandate) IN (SELECT seq, mandate FROM places)
