-- Archived files of an order, newest first; of several orders by id, of each so
-- many of either direction. Tables file_archives, key (mandate, direction,
-- order_id, archive), and file_jobs, key (mandate, direction, order_id,
-- file_job).
SELECT direction, order_id, archive, place, archived_at, file.name, file.filename, file.size_bytes, file.sha256, job_name
FROM (
    SELECT direction, order_id, archive, file_job, archived_at, file, place
    FROM file_archives FINAL
    ARRAY JOIN files AS file, arrayEnumerate(files) AS place
    WHERE mandate = {mandate:UInt64} AND direction IN ('export', 'import') AND order_id IN {wanted:Array(UInt64)} AND order_id IN {orders:Array(UInt64)}
      AND (direction, order_id, archive) IN (
        SELECT direction, order_id, archive -- each has a file or more
        FROM file_archives FINAL
        WHERE mandate = {mandate:UInt64} AND direction IN ('export', 'import') AND order_id IN {wanted:Array(UInt64)} AND order_id IN {orders:Array(UInt64)} AND notEmpty(files)
        ORDER BY archived_at DESC, archive
        LIMIT {each:UInt64} BY direction, order_id
      )
) AS entries
LEFT JOIN (
    SELECT direction, order_id, file_job, name AS job_name
    FROM file_jobs FINAL
    WHERE mandate = {mandate:UInt64} AND direction IN ('export', 'import') AND order_id IN {wanted:Array(UInt64)} AND order_id IN {orders:Array(UInt64)}
) AS jobs USING (direction, order_id, file_job)
ORDER BY order_id, archived_at DESC, direction, archive, place
LIMIT {each:UInt64} BY order_id, direction
LIMIT {limit:UInt64}

-- values
-- each = 5
-- limit = 10001
-- mandate = 7
-- orders = [1,2]
-- version = 3
-- wanted = [2,1]
