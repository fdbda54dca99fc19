-- Cuts the events up to the checkpoint into slices of about so many rows, and
-- gives the last place of each. Reads the whole table.
SELECT tupleElement(max(place), 1) AS epoch, tupleElement(max(place), 2) AS seq
FROM (
    SELECT (epoch, seq) AS place, intDiv(sum(rows) OVER (ORDER BY epoch, seq ROWS UNBOUNDED PRECEDING), {rows:UInt64}) AS slice
    FROM ingested_events
    WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
)
GROUP BY slice
ORDER BY slice
