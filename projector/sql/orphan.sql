-- Of a row: it is beyond the checkpoint, of an epoch up to until, and its event
-- was not ingested.
(epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64})) AND epoch <= {until:UInt32}
  AND (epoch, seq) NOT IN (
      SELECT epoch, seq FROM ingested_events WHERE epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64}))
