-- A new leader begins, on tables that no other partition wrote.
INSERT INTO leader_fences (partition, fence)
SELECT {partition:UInt16}, {fence:UInt64}
WHERE throwIf((SELECT max(fence) FROM leader_fences WHERE partition = {partition:UInt16}) > {fence:UInt64}, 'deposed') = 0
  AND throwIf((SELECT count() FROM leader_fences WHERE partition != {partition:UInt16}) > 0, 'of another partition') = 0
