-- Rows and different rows up to the checkpoint. Reads the whole table.
SELECT count() AS n, uniqExact(epoch, seq, capture, offer) AS distinct_rows
FROM observations
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
