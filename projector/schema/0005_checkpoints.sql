-- How far each partition of a stream is applied: every message up to
-- (epoch, seq) is in every table, or was skipped for good. Written after each
-- batch. It is where a projector resumes, and the watermark up to which reads
-- look: rows beyond it may be incomplete.
CREATE TABLE IF NOT EXISTS checkpoints {{on_cluster}} (
    stream     LowCardinality(String),
    partition  UInt16,
    epoch      UInt32,
    seq        UInt64,
    written_at DateTime64(3, 'UTC') DEFAULT now64(3),
    version    UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(epoch), 64), toUInt128(seq))
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (stream, partition);
