-- Events whose rows are in all tables.
INSERT INTO ingested_events (
    event_id, epoch, seq, captures, rows
)
SELECT
    event_id, epoch, seq, captures, rows
FROM input('
    event_id UUID, epoch UInt32, seq UInt64, captures UInt16, rows UInt32
')
WHERE {{not deposed}}
FORMAT Native
