-- The archived files of the catalogue behind one of them, by key.
SELECT mandate, toUInt8(direction) AS direction, order_id, archive, toUInt64(n - 1) AS file, f.filename AS filename, f.size_bytes AS size, f.sha256 AS hash
FROM file_archives FINAL
ARRAY JOIN files AS f, arrayEnumerate(files) AS n
WHERE mandate > {mandate:UInt64}
    OR (mandate = {mandate:UInt64} AND (direction > {direction:UInt8}
        OR (direction = {direction:UInt8} AND (order_id > {order_id:UInt64}
            OR (order_id = {order_id:UInt64} AND (archive > {archive:UInt64}
                OR (archive = {archive:UInt64} AND n - 1 > {file:Int64})))))))
ORDER BY mandate, direction, order_id, archive, file
LIMIT {limit:UInt32}
