-- Events of a slice of which observations does not hold the rows they gave from
-- the floor on, each once: by ix_seq of both tables, and by the key of expired_rows.
SELECT epoch, seq, toUInt64(greatest(sum(due), 0)) AS due, toUInt64(sum(held)) AS held, toUInt64(sum(different)) AS different
FROM (
    SELECT epoch, seq, toInt64(max(rows)) AS due, 0 AS held, 0 AS different
    FROM ingested_events
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
    GROUP BY epoch, seq
    UNION ALL
    SELECT epoch, seq, -toInt64(rows) AS due, 0 AS held, 0 AS different
    FROM expired_rows FINAL
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
      AND quarter < toDate(fromUnixTimestamp64Milli({floor:Int64}, 'UTC'))
    UNION ALL
    SELECT epoch, seq, toInt64(0) AS due, count() AS held, uniqExact(capture, offer) AS different
    FROM observations
    WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
      AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
    GROUP BY epoch, seq
)
GROUP BY epoch, seq
HAVING due != held OR held != different
ORDER BY epoch, seq
