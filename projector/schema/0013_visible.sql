-- When observations were complete up to a place, in each partition: what the
-- checkpoint was about once a second, kept before it is replaced, so that the
-- times of rows that became visible are known to within a second and never too
-- early. The first row of a partition says since when this is kept.
CREATE TABLE IF NOT EXISTS checkpoint_times {{on_cluster}} (
    partition  UInt16                  CODEC(ZSTD(1)),
    epoch      UInt32                  CODEC(ZSTD(1)),
    seq        UInt64                  CODEC(Delta(8), ZSTD(1)),
    written_at DateTime64(3, 'UTC')    CODEC(Delta(8), ZSTD(1))
)
ENGINE = {{engine "MergeTree"}}
ORDER BY (partition, epoch, seq)
-- One row is looked for, and what is read is rounded up to granules.
SETTINGS index_granularity = 256;
{{if cluster}}
CREATE TABLE IF NOT EXISTS checkpoint_times_all {{on_cluster}} AS checkpoint_times
ENGINE = Distributed({{cluster}}, currentDatabase(), checkpoint_times);

CREATE TABLE IF NOT EXISTS ingested_events_all {{on_cluster}} AS ingested_events
ENGINE = Distributed({{cluster}}, currentDatabase(), ingested_events);
{{end}}
