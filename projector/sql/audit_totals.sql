-- How much there is to compare up to the checkpoint, and what an operator
-- wants to see beside a result.
SELECT
    assumeNotNull((SELECT count() FROM ingested_events WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}))) AS events,
    assumeNotNull((SELECT count() FROM observations WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}))) AS observations,
    assumeNotNull((SELECT count() FROM observations_by_mandate WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}))) AS by_mandate,
    assumeNotNull((SELECT count() FROM latest_observations FINAL)) AS latest
