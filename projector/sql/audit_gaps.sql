-- Ranges of sequences of the stream as it is now, up to the checkpoint, that
-- no event was ingested from. An event of an earlier epoch counts unless a fork
-- since then, in which the stream lost what was after it, gave its sequence to
-- another message.
SELECT toUInt64(before + 1) AS first, toUInt64(seq - 1) AS last
FROM (
    SELECT seq, lagInFrame(seq, 1, toUInt64({first:UInt64} - 1)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS before
    FROM (
        SELECT DISTINCT seq
        FROM ingested_events
        WHERE seq >= {first:UInt64} AND seq <= {last:UInt64}
          AND epoch >= {created:UInt32} AND epoch <= {epoch:UInt32}
          AND NOT arrayExists((fork, after) -> epoch < fork AND seq > after, {forks:Array(UInt32)}, {afters:Array(UInt64)})
        UNION ALL
        SELECT toUInt64({last:UInt64} + 1) AS seq
    )
)
WHERE seq > before + 1
ORDER BY first
