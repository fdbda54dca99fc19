-- Events of the stream's present epoch that stand beyond its end.
SELECT count() AS n
FROM ingested_events
WHERE epoch = {epoch:UInt32} AND seq > {last:UInt64}
