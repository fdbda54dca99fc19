-- Exports or imports of an order by id, each with the time of its newest
-- archive. Tables file_jobs, key (mandate, direction, order_id, file_job), and
-- file_archives, key (mandate, direction, order_id, archive).
WITH page AS (
    SELECT file_job, name
    FROM file_jobs FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND file_job > {after:UInt64}
    ORDER BY file_job
    LIMIT {limit:UInt64}
)
SELECT file_job, name, newest
FROM page
LEFT JOIN (
    SELECT file_job, max(toNullable(archived_at)) AS newest
    FROM file_archives FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND file_job IN (SELECT file_job FROM page)
    GROUP BY file_job
) AS runs USING (file_job)
ORDER BY file_job

-- values
-- after = 0
-- direction = import
-- limit = 101
-- mandate = 7
-- order = 2
-- version = 3
