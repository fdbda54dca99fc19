-- The newest place beyond the checkpoint in any table: what was written but
-- perhaps not completely. By ix_seq of each table but latest_observations, which
-- has a row a pair.
SELECT tupleElement(max((e, s)), 1) AS epoch, tupleElement(max((e, s)), 2) AS seq
FROM (
    SELECT epoch AS e, seq AS s FROM observations WHERE epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64})
    UNION ALL
    SELECT epoch AS e, seq AS s FROM observations_by_mandate WHERE epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64})
    UNION ALL
    SELECT epoch AS e, seq AS s FROM latest_observations WHERE epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64})
    UNION ALL
    SELECT epoch AS e, seq AS s FROM ingested_events WHERE epoch > {epoch:UInt32} OR (epoch = {epoch:UInt32} AND seq > {seq:UInt64})
)
