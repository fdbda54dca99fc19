-- Of how many partitions the one is that got so far: the rows of all tables
-- lie by both, so that no other may write to them.
ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS partitions UInt32 DEFAULT 1;
