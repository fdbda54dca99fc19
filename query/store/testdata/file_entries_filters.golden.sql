-- Archived files of an order, newest first; of several orders by id, of each so
-- many of either direction. Tables file_archives, key (mandate, direction,
-- order_id, archive), and file_jobs, key (mandate, direction, order_id,
-- file_job).
SELECT archive, place, archived_at, file.name, file.filename, file.size_bytes, file.sha256, job_name
FROM (
    SELECT archive, file_job, archived_at, file, place
    FROM file_archives FINAL
    ARRAY JOIN files AS file, arrayEnumerate(files) AS place
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND order_id IN {orders:Array(UInt64)}
      AND archived_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND archived_at <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      AND file.name = {name:String}
      AND (-toUnixTimestamp64Milli(archived_at), archive, place) > (-{after_ms:Int64}, {after_archive:UInt64}, {after_place:UInt32})
) AS entries
LEFT JOIN (
    SELECT file_job, name AS job_name
    FROM file_jobs FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND order_id IN {orders:Array(UInt64)}
) AS jobs USING (file_job)
WHERE job_name = {export_name:String}
ORDER BY archived_at DESC, archive, place
LIMIT {limit:UInt64}

-- values
-- after_archive = 8
-- after_ms = 1500000
-- after_place = 1
-- direction = export
-- export_name = E
-- from_ms = 1000000
-- limit = 101
-- mandate = 7
-- name = it's\t\\
-- order = 2
-- orders = [1,2]
-- to_ms = 2000000
-- version = 3
