-- Where an event is written, by key.
SELECT epoch, seq, rows
FROM ingested_events
WHERE event_id = {id:UUID}
LIMIT 1
