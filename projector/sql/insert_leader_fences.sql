-- A leader begins, or begins again after a doubt, on tables that no other
-- partition wrote. What was sent before is refused from here on.
INSERT INTO leader_fences (partition, fence, written_at)
SELECT {partition:UInt16}, {fence:UInt64}, fromUnixTimestamp64Milli({begun:Int64}, 'UTC')
WHERE {{not deposed}}
  AND throwIf((SELECT count() FROM leader_fences WHERE partition != {partition:UInt16}) > 0, 'of another partition') = 0
