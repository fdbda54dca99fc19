-- One row for each event of OBSERVATIONS whose rows are in the tables above,
-- written after them: what stands here is complete. By event id, so that a
-- copy published again after the stream forgot its id is found and dropped.
CREATE TABLE IF NOT EXISTS ingested_events {{on_cluster}} (
    event_id UUID,
    epoch    UInt32                CODEC(ZSTD(1)),
    seq      UInt64                CODEC(ZSTD(1)),
    captures UInt16                CODEC(ZSTD(1)),
    rows     UInt32                CODEC(ZSTD(1)),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 4
)
ENGINE = {{engine "MergeTree"}}
ORDER BY (event_id, epoch, seq)
SETTINGS index_granularity = 512;
