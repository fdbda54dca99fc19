-- How far each stream is applied in this partition, by key.
SELECT stream, epoch, seq
FROM checkpoints FINAL
WHERE partition = {partition:UInt16}
ORDER BY stream
