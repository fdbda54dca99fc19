-- The quarters of the rows of the large tables, each as its first day (YYYYMMDD),
-- in order; 0: the table does not lie by quarters.
SELECT table, quarter
FROM (
    SELECT DISTINCT table, toUInt32OrZero(partition_id) AS quarter
    FROM system.parts
    WHERE active AND database = currentDatabase() AND table IN ('observations', 'observations_by_mandate')
    UNION DISTINCT
    SELECT name AS table, toUInt32(0) AS quarter
    FROM system.tables
    WHERE database = currentDatabase() AND name IN ('observations', 'observations_by_mandate') AND partition_key = ''
)
ORDER BY table, quarter
