-- The quarters of the rows of the large tables, each as its first day (YYYYMMDD),
-- in order, with its bytes on the disk; 0: the table does not lie by quarters.
SELECT table, quarter, sum(bytes) AS bytes
FROM (
    SELECT table, toUInt32OrZero(partition_id) AS quarter, bytes_on_disk AS bytes
    FROM system.parts
    WHERE active AND database = currentDatabase() AND table IN ('observations', 'observations_by_mandate')
    UNION ALL
    SELECT name AS table, toUInt32(0) AS quarter, toUInt64(0) AS bytes
    FROM system.tables
    WHERE database = currentDatabase() AND name IN ('observations', 'observations_by_mandate') AND partition_key = ''
)
GROUP BY table, quarter
ORDER BY table, quarter
