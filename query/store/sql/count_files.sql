-- How many archive documents an order has, at most so many, and how many
-- files are in them. It reads sizes, no file. Table file_archives, key
-- (mandate, direction, order_id, archive).
SELECT count() AS documents, sum(files_in) AS nested
FROM (
    SELECT length(files) AS files_in
    FROM file_archives FINAL
    WHERE {{template "files_of" .}}
    LIMIT {most:UInt64}
)
SETTINGS max_threads = 1, max_block_size = 8192 -- or more is read ahead than is looked at
