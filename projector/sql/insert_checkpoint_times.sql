-- Keeps when the observations got as far as they are, before their checkpoint
-- is replaced; a place before all others when there is none.
INSERT INTO checkpoint_times (partition, epoch, seq, written_at)
SELECT {partition:UInt16}, last.1, last.2, last.3
FROM (SELECT max((epoch, seq, written_at)) AS last FROM checkpoints WHERE stream = 'OBSERVATIONS' AND partition = {partition:UInt16})
WHERE {{not deposed}}
