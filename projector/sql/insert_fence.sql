-- A new leader begins.
INSERT INTO leader_fences (partition, fence)
SELECT {partition:UInt16}, {fence:UInt64}
WHERE throwIf((SELECT max(fence) FROM leader_fences WHERE partition = {partition:UInt16}) > {fence:UInt64}, 'deposed') = 0
