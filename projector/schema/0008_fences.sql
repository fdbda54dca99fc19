-- The fence of the newest leader of each partition. Every insert of a
-- projector looks here first and stops when it finds a newer one, so that a
-- leader that was put to sleep cannot write after its successor began.
CREATE TABLE IF NOT EXISTS leader_fences {{on_cluster}} (
    partition  UInt16,
    fence      UInt64,
    written_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{engine "ReplacingMergeTree(fence)"}}
ORDER BY partition;
