-- Which rows of a range of sequences observations holds: by ix_seq.
SELECT seq, capture, offer
FROM observations
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
