-- How far a stream is applied, and, of observations, what the tables hold then
-- from the floor on.
INSERT INTO checkpoints (stream, partition, partitions, epoch, seq, proven, events, events_sum, rows, rows_sum, floor)
SELECT
    {stream:String}, {partition:UInt16}, {partitions:UInt32}, {epoch:UInt32}, {seq:UInt64},
    {proven:Bool}, {events:UInt64}, {events_sum:UInt64}, {rows:UInt64}, {rows_sum:UInt64}, {floor:Int64}
WHERE {{not deposed}}
