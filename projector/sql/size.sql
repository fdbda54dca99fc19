-- How large the tables are, and how far the checkpoint of a partition came in the
-- last seven days of its newest epoch: by parts, and by key. Where that epoch began
-- to count again, its numbers say nothing of the bytes of those before it.
SELECT
    assumeNotNull((SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase())) AS bytes,
    assumeNotNull((SELECT sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'observations')) AS rows,
    toUInt64(max(seq)) AS last,
    toUInt64(min(seq)) AS first,
    toUInt64(if(count() = 0 OR max(seq) < (SELECT max(seq) FROM checkpoint_times WHERE partition = {partition:UInt16}), 0,
        dateDiff('second', min(written_at), now64(3)))) AS seconds
FROM checkpoint_times
WHERE partition = {partition:UInt16} AND written_at >= now64(3) - INTERVAL 7 DAY
  AND epoch = (SELECT max(epoch) FROM checkpoint_times WHERE partition = {partition:UInt16})
