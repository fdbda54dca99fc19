-- How far the stream is applied.
INSERT INTO checkpoints (stream, partition, epoch, seq)
SELECT {stream:String}, {partition:UInt16}, {epoch:UInt32}, {seq:UInt64}
WHERE throwIf((SELECT max(fence) FROM leader_fences WHERE partition = {partition:UInt16}) > {fence:UInt64}, 'deposed') = 0
