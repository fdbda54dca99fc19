-- The pairs of each mandate's active orders within its package, one full set
-- for each version. A version is written whole before scopes names it.
CREATE TABLE IF NOT EXISTS scope_pairs {{on_cluster}} (
    mandate UInt64,
    version UInt64,
    item    UInt64,
    site    LowCardinality(String),
    orders  Array(UInt64)
)
ENGINE = {{engine "MergeTree"}}
ORDER BY (mandate, version, item, site);

-- The version of a mandate's scope now in force.
CREATE TABLE IF NOT EXISTS scopes {{on_cluster}} (
    mandate UInt64,
    version UInt64,
    pairs   UInt64,
    items   UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY mandate;

-- The version of a mandate's scope that observations_by_mandate reflects
-- exactly: granted pairs backfilled, lost pairs deleted. Before rows of pairs
-- not yet in force are written, a version that is never in force stands here,
-- so that the two differ until the change is complete. A read of a whole
-- mandate may leave the pair filter out only while this equals scopes.
CREATE TABLE IF NOT EXISTS scopes_applied {{on_cluster}} (
    mandate   UInt64,
    partition UInt16,
    version   UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, partition);
