-- Where an event is written, and how many of its rows are below the floor: by keys.
SELECT at.epoch AS epoch, at.seq AS seq, at.rows AS rows, sum(below.rows) AS expired
FROM (
    SELECT epoch, seq, rows
    FROM ingested_events
    WHERE event_id = {id:UUID}
    LIMIT 1
) AS at
LEFT JOIN (
    SELECT epoch, seq, rows
    FROM expired_rows FINAL
    WHERE (epoch, seq) IN (SELECT epoch, seq FROM ingested_events WHERE event_id = {id:UUID})
      AND quarter < (SELECT toDate(fromUnixTimestamp64Milli(max(floor), 'UTC')) FROM checkpoints)
) AS below USING (epoch, seq)
GROUP BY epoch, seq, rows
