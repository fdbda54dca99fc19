-- Which rows of a range of sequences observations_by_mandate holds: by ix_seq.
SELECT mandate, seq, capture, offer
FROM observations_by_mandate
WHERE epoch = {epoch:UInt32} AND seq >= {first:UInt64} AND seq <= {last:UInt64}
