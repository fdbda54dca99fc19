-- Ranges of sequences of the stream as it is now, up to the checkpoint, that
-- no event was ingested from. Sequences up to after belong to earlier epochs,
-- unless they were read again since.
SELECT toUInt64(before + 1) AS first, toUInt64(seq - 1) AS last
FROM (
    SELECT seq, lagInFrame(seq, 1, toUInt64({first:UInt64} - 1)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS before
    FROM (
        SELECT DISTINCT seq
        FROM ingested_events
        WHERE seq >= {first:UInt64} AND seq <= {last:UInt64}
          AND (epoch = {epoch:UInt32} OR (epoch >= {created:UInt32} AND epoch < {epoch:UInt32} AND seq <= {after:UInt64}))
        UNION ALL
        SELECT toUInt64({last:UInt64} + 1) AS seq
    )
)
WHERE seq > before + 1
ORDER BY first
