-- Catalogue records, by their place in the stream.
INSERT INTO file_jobs (mandate, direction, order_id, file_job, name, created_at, version)
SELECT mandate, direction, order_id, file_job, name, fromUnixTimestamp64Milli(created_ms, 'UTC'), version
FROM input('mandate UInt64, direction UInt8, order_id UInt64, file_job UInt64, name String, created_ms Int64, version UInt64')
WHERE {{not deposed}}
FORMAT Native
