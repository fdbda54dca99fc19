-- Catalogue records, by their place in the stream.
INSERT INTO file_archives (mandate, direction, order_id, archive, file_job, archived_at, files, version)
SELECT
    mandate, direction, order_id, archive, file_job, fromUnixTimestamp64Milli(archived_ms, 'UTC'),
    arrayZip(names, filenames, sizes, hashes), version
FROM input('
    mandate UInt64, direction UInt8, order_id UInt64, archive UInt64, file_job UInt64, archived_ms Int64,
    names Array(String), filenames Array(String), sizes Array(Int64), hashes Array(String), version UInt64
')
WHERE {{not deposed}}
FORMAT Native
