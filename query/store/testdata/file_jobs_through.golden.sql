-- The n-th export or import of an order after an id, when more than n follow;
-- else 0. It looks at no more than one further. Table file_jobs, key (mandate,
-- direction, order_id, file_job).
SELECT if(count() > {n:UInt64}, arraySort(groupArray(file_job))[{n:UInt64}], 0)
FROM (
    SELECT file_job
    FROM file_jobs FINAL
    WHERE mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64} AND order_id IN {orders:Array(UInt64)} AND file_job > {after:UInt64}
    ORDER BY file_job
    LIMIT {n:UInt64} + 1
)
SETTINGS max_threads = 1, max_block_size = 8192 -- or more is read ahead than is looked at

-- values
-- after = 5
-- direction = export
-- mandate = 7
-- n = 10000
-- order = 2
-- orders = [1,2]
-- version = 3
