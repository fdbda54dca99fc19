-- From which capture time on a partition keeps rows, in Unix ms; 0: all. It is
-- written with the proof, which is of the rows from there on.
ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS floor Int64 DEFAULT 0;

-- How many rows of an event were captured in a quarter below the floor, removed or
-- never written. Written before the floor is; quarters from the floor on do not count.
CREATE TABLE IF NOT EXISTS expired_rows {{on_cluster}} (
    epoch   UInt32 CODEC(ZSTD(1)),
    seq     UInt64 CODEC(Delta(8), ZSTD(1)),
    quarter Date   CODEC(ZSTD(1)),
    rows    UInt64 CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree"}}
ORDER BY (epoch, seq, quarter);
{{if cluster}}
ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS floor Int64 DEFAULT 0;
{{end}}