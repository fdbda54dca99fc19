-- Which of the ids in the external table ids were ingested, and where: by key.
SELECT event_id, epoch, seq
FROM ingested_events
WHERE event_id IN (SELECT event_id FROM ids)
ORDER BY event_id, epoch, seq
