-- The rows of one event as texts: by ix_seq.
SELECT {text} AS text
FROM observations
WHERE epoch = {epoch:UInt32} AND seq = {seq:UInt64} AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC')
ORDER BY capture, offer, text
