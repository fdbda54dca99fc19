-- Number and checksum of the rows of each event of a slice: by ix_seq.
SELECT epoch, seq, count() AS n, sum(xxHash64({text})) AS checksum
FROM observations
WHERE (epoch, seq) > ({after_epoch:UInt32}, {after_seq:UInt64}) AND (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64})
  AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
GROUP BY epoch, seq
