-- What the tables hold up to the checkpoint of OBSERVATIONS, as its projector
-- counted it: the events of ingested_events with the sum of the hashes of their
-- ids, and the rows of observations with the sum of the hashes of their places.
-- Not proven: a projector counts once what is there, and goes on from it.
ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS proven Bool DEFAULT false;

ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS events UInt64 DEFAULT 0;

ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS events_sum UInt64 DEFAULT 0;

ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS rows UInt64 DEFAULT 0;

ALTER TABLE checkpoints {{on_cluster}} ADD COLUMN IF NOT EXISTS rows_sum UInt64 DEFAULT 0;
{{if cluster}}
ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS proven Bool DEFAULT false;

ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS events UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS events_sum UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS rows UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all {{on_cluster}} ADD COLUMN IF NOT EXISTS rows_sum UInt64 DEFAULT 0;
{{end}}
