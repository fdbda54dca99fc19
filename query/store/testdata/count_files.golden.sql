-- How many archive documents an order has, at most so many, and how many
-- files are in them; of several orders, of each and each direction. It reads
-- sizes, no file. Table file_archives, key (mandate, direction, order_id,
-- archive).
SELECT count() AS documents, sum(files_in) AS nested
FROM (
    SELECT length(files) AS files_in
    FROM file_archives FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND order_id IN {orders:Array(UInt64)}
    LIMIT {most:UInt64}
)
SETTINGS max_threads = 1, max_block_size = 8192 -- or more is read ahead than is looked at

-- values
-- direction = export
-- mandate = 7
-- most = 1001
-- order = 2
-- orders = [1,2]
-- version = 3
