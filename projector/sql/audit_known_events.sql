-- Which of the ids were ingested, from whatever place: by key.
SELECT DISTINCT event_id
FROM ingested_events
WHERE event_id IN (SELECT toUUID(arrayJoin(splitByChar(',', {ids:String}))))
