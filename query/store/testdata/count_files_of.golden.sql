-- How many archive documents an order has, at most so many, and how many
-- files are in them; of several orders, of each and each direction. It reads
-- sizes, no file. Table file_archives, key (mandate, direction, order_id,
-- archive).
SELECT direction, order_id, count() AS documents, sum(files_in) AS nested
FROM (
    SELECT direction, order_id, length(files) AS files_in
    FROM file_archives FINAL
    WHERE mandate = {mandate:UInt64} AND direction IN ('export', 'import') AND order_id IN {wanted:Array(UInt64)} AND order_id IN {orders:Array(UInt64)}
    LIMIT {most:UInt64} BY direction, order_id
)
GROUP BY direction, order_id
ORDER BY direction, order_id

-- values
-- mandate = 7
-- most = 1001
-- orders = [1,2]
-- version = 3
-- wanted = [2,1]
