-- How much there is to compare from the floor up to the checkpoint, and what an operator
-- wants to see beside a result.
SELECT
    assumeNotNull((SELECT count() FROM ingested_events WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}))) AS events,
    assumeNotNull((SELECT count() FROM observations WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}) AND captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC'))) AS observations,
    assumeNotNull((SELECT count() FROM observations_by_mandate WHERE (epoch, seq) <= ({epoch:UInt32}, {seq:UInt64}) AND captured_desc <= -{floor:Int64})) AS by_mandate,
    assumeNotNull((SELECT count() FROM latest_observations FINAL WHERE captured_at >= fromUnixTimestamp64Milli({floor:Int64}, 'UTC'))) AS latest
