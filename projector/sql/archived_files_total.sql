-- How many archived files the catalogue has, and their bytes.
SELECT toUInt64(sum(length(files))) AS n, toUInt64(sum(arraySum(f -> f.size_bytes, files))) AS bytes
FROM file_archives FINAL
