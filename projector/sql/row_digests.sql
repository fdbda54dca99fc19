-- How many rows the tables hold of a range of sequences, and the sums of the
-- hashes of their identities: of observations (mandate 0) and of each mandate.
-- By ix_seq of both.
SELECT mandate, seq, count() AS n,
    sum(xxHash64(concat(toString(capture), ' ', toString(offer), ' ', toString(item), ' ', toString(captured_ms), ' ', site))) AS sum
FROM (
    SELECT toUInt64(0) AS mandate, epoch, seq, capture, offer, item, site, toUnixTimestamp64Milli(captured_at) AS captured_ms
    FROM observations
    WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
    UNION ALL
    SELECT mandate, epoch, seq, capture, offer, item, site, -captured_desc AS captured_ms
    FROM observations_by_mandate
    WHERE captured_desc <= -{floor:Int64}
)
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
GROUP BY seq, mandate
ORDER BY seq, mandate
