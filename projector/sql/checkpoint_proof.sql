-- What the checkpoint of OBSERVATIONS says the tables hold, by key.
SELECT events, events_sum, rows, rows_sum, epoch, seq, toUInt64(proven) AS proven, floor
FROM checkpoints FINAL
WHERE stream = 'OBSERVATIONS' AND partition = {partition:UInt16}
