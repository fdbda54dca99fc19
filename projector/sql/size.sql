-- How large the tables are, how many events wrote how many rows, kept or not, and how
-- many of these events the checkpoint of a partition passed in the last seven days of
-- its newest epoch, and for how long: by parts, by key, and by narrow columns of
-- ingested_events. Sequences are those of all partitions, and count no events.
WITH (
    SELECT (max(epoch), min(seq), max(seq), if(count() = 0, 0, dateDiff('second', min(written_at), now64(3))))
    FROM checkpoint_times
    WHERE partition = {partition:UInt16} AND written_at >= now64(3) - INTERVAL 7 DAY
      AND epoch = (SELECT max(epoch) FROM checkpoint_times WHERE partition = {partition:UInt16})
) AS passed
SELECT
    assumeNotNull((SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase())) AS bytes,
    assumeNotNull((SELECT sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'observations')) AS rows,
    count() AS events,
    sum(ingested_events.rows) AS written,
    countIf(epoch = passed.1 AND seq > passed.2 AND seq <= passed.3) AS came,
    toUInt64(assumeNotNull(passed.4)) AS seconds
FROM ingested_events
