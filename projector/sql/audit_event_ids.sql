-- Events that were ingested more than once up to the checkpoint, under one id
-- or at one place, and how often too many. Reads the whole table.
SELECT epoch, min(seq) AS first, max(seq) AS last, toUInt64(sum(n)) AS n
FROM (
    SELECT tupleElement(place, 1) AS epoch, tupleElement(place, 2) AS seq, n
    FROM (SELECT max((epoch, seq)) AS place, count() - 1 AS n FROM ingested_events WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}) GROUP BY event_id HAVING n > 0)
    UNION ALL
    SELECT epoch, seq, count() - 1 AS n
    FROM ingested_events
    WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
    GROUP BY epoch, seq
    HAVING n > 0 AND uniqExact(event_id) > 1
)
GROUP BY epoch
ORDER BY epoch
