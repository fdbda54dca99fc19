-- Archived files of an order, newest first; of several orders by id, of each so
-- many of either direction. Tables file_archives, key (mandate, direction,
-- order_id, archive), and file_jobs, key (mandate, direction, order_id,
-- file_job).
SELECT archive, place, archived_at, file.name, file.filename, file.size_bytes, file.sha256, job_name
FROM (
    SELECT archive, file_job, archived_at, file, place
    FROM file_archives FINAL
    ARRAY JOIN files AS file, arrayEnumerate(files) AS place
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64}
) AS entries
LEFT JOIN (
    SELECT file_job, name AS job_name
    FROM file_jobs FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64}
) AS jobs USING (file_job)
ORDER BY archived_at DESC, archive, place
LIMIT {limit:UInt64}

-- values
-- direction = import
-- limit = 1
-- mandate = 7
-- order = 2
-- version = 3
