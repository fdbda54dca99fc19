-- How far a stream is applied.
INSERT INTO checkpoints (stream, partition, partitions, epoch, seq)
SELECT {stream:String}, {partition:UInt16}, {partitions:UInt32}, {epoch:UInt32}, {seq:UInt64}
WHERE throwIf((SELECT max(fence) FROM leader_fences WHERE partition = {partition:UInt16}) > {fence:UInt64}, 'deposed') = 0
