-- The rows of one event as texts: by ix_seq.
SELECT {text} AS text
FROM observations
WHERE epoch = {epoch:UInt32} AND seq = {seq:UInt64}
ORDER BY capture, offer, text
