-- Rows of all shards as one table: what a query node reads that is told of
-- several shards. Only a cluster has these. Each shard holds its part of the
-- observations and the whole catalogue, so that a select from them names the
-- tables of the shard itself in its sub-selects. Nothing is written through
-- them. A migration that changes a table here changes its other side too.
{{if cluster}}
CREATE TABLE IF NOT EXISTS observations_all {{on_cluster}} AS observations
ENGINE = Distributed({{cluster}}, currentDatabase(), observations);

CREATE TABLE IF NOT EXISTS observations_by_mandate_all {{on_cluster}} AS observations_by_mandate
ENGINE = Distributed({{cluster}}, currentDatabase(), observations_by_mandate);

CREATE TABLE IF NOT EXISTS latest_observations_all {{on_cluster}} AS latest_observations
ENGINE = Distributed({{cluster}}, currentDatabase(), latest_observations);

CREATE TABLE IF NOT EXISTS checkpoints_all {{on_cluster}} AS checkpoints
ENGINE = Distributed({{cluster}}, currentDatabase(), checkpoints);

CREATE TABLE IF NOT EXISTS scopes_all {{on_cluster}} AS scopes
ENGINE = Distributed({{cluster}}, currentDatabase(), scopes);

CREATE TABLE IF NOT EXISTS scopes_applied_all {{on_cluster}} AS scopes_applied
ENGINE = Distributed({{cluster}}, currentDatabase(), scopes_applied);
{{end}}
