-- Rows and different rows up to the checkpoint. Reads the whole table.
SELECT count() AS n, uniqExact(mandate, epoch, seq, capture, offer) AS distinct_rows
FROM observations_by_mandate
WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
