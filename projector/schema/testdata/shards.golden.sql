CREATE TABLE IF NOT EXISTS observations  (
    item           UInt64                  CODEC(Delta(8), ZSTD(1)),
    site           LowCardinality(String)  CODEC(ZSTD(1)),
    captured_at    DateTime64(3, 'UTC')    CODEC(Delta(8), ZSTD(1)),
    epoch          UInt32                  CODEC(ZSTD(1)),
    seq            UInt64                  CODEC(Delta(8), ZSTD(1)),
    capture        UInt16                  CODEC(ZSTD(1)),
    offer          UInt16                  CODEC(ZSTD(1)),
    outcome        Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5) CODEC(ZSTD(1)),
    currency       LowCardinality(String)  CODEC(ZSTD(1)),
    price_minor    Int64                   CODEC(ZSTD(1)),
    shipping_minor Int64                   CODEC(ZSTD(1)),
    merchant       LowCardinality(String)  CODEC(ZSTD(1)),
    is_prime       UInt8                   CODEC(ZSTD(1)),
    is_buy_box     UInt8                   CODEC(ZSTD(1)),
    rating_tenths  UInt8                   CODEC(ZSTD(1)),
    manufacturer   LowCardinality(String)  CODEC(ZSTD(1)),
    title          String                  CODEC(ZSTD(1)),
    url            String                  CODEC(ZSTD(1)),
    delivery_text  LowCardinality(String)  CODEC(ZSTD(1)),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toStartOfQuarter(captured_at)
PRIMARY KEY (item, site, captured_at)
ORDER BY (item, site, captured_at, epoch, seq, capture, offer);

CREATE TABLE IF NOT EXISTS observations_by_mandate  (
    mandate        UInt64                  CODEC(Delta(8), ZSTD(1)),
    captured_desc  Int64                   CODEC(Delta(8), ZSTD(1)),
    item           UInt64                  CODEC(ZSTD(1)),
    site           LowCardinality(String)  CODEC(ZSTD(1)),
    epoch          UInt32                  CODEC(ZSTD(1)),
    seq            UInt64                  CODEC(Delta(8), ZSTD(1)),
    capture        UInt16                  CODEC(ZSTD(1)),
    offer          UInt16                  CODEC(ZSTD(1)),
    outcome        Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5) CODEC(ZSTD(1)),
    currency       LowCardinality(String)  CODEC(ZSTD(1)),
    price_minor    Int64                   CODEC(ZSTD(1)),
    shipping_minor Int64                   CODEC(ZSTD(1)),
    merchant       LowCardinality(String)  CODEC(ZSTD(1)),
    is_prime       UInt8                   CODEC(ZSTD(1)),
    is_buy_box     UInt8                   CODEC(ZSTD(1)),
    rating_tenths  UInt8                   CODEC(ZSTD(1)),
    manufacturer   LowCardinality(String)  CODEC(ZSTD(1)),
    title          String                  CODEC(ZSTD(1)),
    url            String                  CODEC(ZSTD(1)),
    delivery_text  LowCardinality(String)  CODEC(ZSTD(1)),
    captured_at    DateTime64(3, 'UTC')    ALIAS fromUnixTimestamp64Milli(-captured_desc, 'UTC'),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toStartOfQuarter(fromUnixTimestamp64Milli(-captured_desc, 'UTC'))
PRIMARY KEY (mandate, captured_desc, item, site)
ORDER BY (mandate, captured_desc, item, site, epoch, seq, capture, offer)
-- A page is spread over all parts; what is read of each is rounded up to granules.
SETTINGS index_granularity = 1024;

CREATE TABLE IF NOT EXISTS latest_observations  (
    item           UInt64,
    site           LowCardinality(String),
    captured_at    DateTime64(3, 'UTC'),
    epoch          UInt32,
    seq            UInt64,
    capture        UInt16,
    outcome        Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5),
    offer          Array(UInt16),
    currency       Array(LowCardinality(String)),
    price_minor    Array(Int64),
    shipping_minor Array(Int64),
    merchant       Array(LowCardinality(String)),
    is_prime       Array(UInt8),
    is_buy_box     Array(UInt8),
    rating_tenths  Array(UInt8),
    manufacturer   Array(LowCardinality(String)),
    title          Array(String),
    url            Array(String),
    delivery_text  Array(LowCardinality(String)),
    version        UInt128 MATERIALIZED bitOr(
        bitShiftLeft(toUInt128(toUnixTimestamp64Milli(captured_at)), 84),
        bitOr(bitShiftLeft(toUInt128(epoch), 52), bitOr(bitShiftLeft(toUInt128(seq), 10), toUInt128(capture))))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (item, site)
-- Pairs are read one by one, and what is read is rounded up to granules.
SETTINGS index_granularity = 256;

CREATE TABLE IF NOT EXISTS ingested_events  (
    event_id UUID,
    epoch    UInt32                CODEC(ZSTD(1)),
    seq      UInt64                CODEC(ZSTD(1)),
    captures UInt16                CODEC(ZSTD(1)),
    rows     UInt32                CODEC(ZSTD(1)),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 4
)
ENGINE = MergeTree
ORDER BY (event_id, epoch, seq)
SETTINGS index_granularity = 512;

CREATE TABLE IF NOT EXISTS checkpoints  (
    stream     LowCardinality(String),
    partition  UInt16,
    epoch      UInt32,
    seq        UInt64,
    written_at DateTime64(3, 'UTC') DEFAULT now64(3),
    version    UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(epoch), 64), toUInt128(seq))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (stream, partition);

CREATE TABLE IF NOT EXISTS scope_pairs  (
    mandate UInt64,
    version UInt64,
    item    UInt64,
    site    LowCardinality(String),
    orders  Array(UInt64)
)
ENGINE = MergeTree
ORDER BY (mandate, version, item, site);

CREATE TABLE IF NOT EXISTS scopes  (
    mandate UInt64,
    version UInt64,
    pairs   UInt64,
    items   UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY mandate;

CREATE TABLE IF NOT EXISTS scopes_applied  (
    mandate   UInt64,
    partition UInt16,
    version   UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, partition);

CREATE TABLE IF NOT EXISTS sites  (
    site                     String,
    name                     String,
    site_type                LowCardinality(String),
    country_code             LowCardinality(String),
    currency                 LowCardinality(String),
    operator                 LowCardinality(String),
    canonical_country_market Bool,
    price_comparison_market  Bool,
    version                  UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY site;

CREATE TABLE IF NOT EXISTS items  (
    item         UInt64,
    ean          String,
    pzn          String,
    asin         String,
    asin_locale  LowCardinality(String),
    name         String,
    brand        LowCardinality(String),
    manufacturer LowCardinality(String),
    version      UInt64,
    INDEX ix_ean ean TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX ix_pzn pzn TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX ix_asin asin TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY item;

CREATE TABLE IF NOT EXISTS mandates  (
    mandate      UInt64,
    name         String,
    package_name String,
    max_items    UInt64,
    version      UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY mandate;

CREATE TABLE IF NOT EXISTS accounts  (
    account          UInt64,
    mandate          UInt64,
    login_identifier String,
    password_hash    String,
    administrative   Bool,
    disabled         Bool,
    permissions      Array(LowCardinality(String)),
    all_orders       Bool,
    orders           Array(UInt64),
    all_sites        Bool,
    sites            Array(String),
    version          UInt64,
    INDEX ix_login login_identifier TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY account;

CREATE TABLE IF NOT EXISTS orders  (
    mandate          UInt64,
    order_id         UInt64,
    alias            String,
    name             String,
    active           Bool,
    created_at       DateTime64(3, 'UTC'),
    items            Array(UInt64),
    sites            Array(String),
    interval_minutes UInt32,
    last_run_at      Nullable(DateTime64(3, 'UTC')),
    next_run_at      Nullable(DateTime64(3, 'UTC')),
    counters         Array(Tuple(site String, configured UInt32, expected UInt32, processed UInt32)),
    version          UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, order_id);

CREATE TABLE IF NOT EXISTS reference_prices  (
    mandate UInt64,
    item    UInt64,
    prices  Array(Tuple(amount_minor Int64, currency String, site String, quantity String, price_type String)),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, item);

CREATE TABLE IF NOT EXISTS customer_data  (
    mandate  UInt64,
    item     UInt64,
    category String,
    fields   Map(String, String),
    version  UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, item);

CREATE TABLE IF NOT EXISTS file_jobs  (
    mandate    UInt64,
    direction  Enum8('export' = 1, 'import' = 2),
    order_id   UInt64,
    file_job   UInt64,
    name       String,
    created_at DateTime64(3, 'UTC'),
    version    UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, direction, order_id, file_job);

CREATE TABLE IF NOT EXISTS file_archives  (
    mandate     UInt64,
    direction   Enum8('export' = 1, 'import' = 2),
    order_id    UInt64,
    archive     UInt64,
    file_job    UInt64,
    archived_at DateTime64(3, 'UTC'),
    files       Array(Tuple(name String, filename String, size_bytes Int64, sha256 String)),
    version     UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, direction, order_id, archive);

CREATE TABLE IF NOT EXISTS leader_fences  (
    partition  UInt16,
    fence      UInt64,
    written_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(fence)
ORDER BY partition;

ALTER TABLE orders  ADD COLUMN IF NOT EXISTS legacy Bool;

ALTER TABLE orders  ADD COLUMN IF NOT EXISTS memberships Array(Tuple(item UInt64, sites String));

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS partitions UInt32 DEFAULT 1;

CREATE TABLE IF NOT EXISTS observations_all  AS observations
ENGINE = Distributed('it''s', currentDatabase(), observations);

CREATE TABLE IF NOT EXISTS observations_by_mandate_all  AS observations_by_mandate
ENGINE = Distributed('it''s', currentDatabase(), observations_by_mandate);

CREATE TABLE IF NOT EXISTS latest_observations_all  AS latest_observations
ENGINE = Distributed('it''s', currentDatabase(), latest_observations);

CREATE TABLE IF NOT EXISTS checkpoints_all  AS checkpoints
ENGINE = Distributed('it''s', currentDatabase(), checkpoints);

CREATE TABLE IF NOT EXISTS scopes_all  AS scopes
ENGINE = Distributed('it''s', currentDatabase(), scopes);

CREATE TABLE IF NOT EXISTS scopes_applied_all  AS scopes_applied
ENGINE = Distributed('it''s', currentDatabase(), scopes_applied);

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS proven Bool DEFAULT false;

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS events UInt64 DEFAULT 0;

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS events_sum UInt64 DEFAULT 0;

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS rows UInt64 DEFAULT 0;

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS rows_sum UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS proven Bool DEFAULT false;

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS events UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS events_sum UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS rows UInt64 DEFAULT 0;

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS rows_sum UInt64 DEFAULT 0;

CREATE TABLE IF NOT EXISTS checkpoint_times  (
    partition  UInt16                  CODEC(ZSTD(1)),
    epoch      UInt32                  CODEC(ZSTD(1)),
    seq        UInt64                  CODEC(Delta(8), ZSTD(1)),
    written_at DateTime64(3, 'UTC')    CODEC(Delta(8), ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (partition, epoch, seq)
-- One row is looked for, and what is read is rounded up to granules.
SETTINGS index_granularity = 256;

CREATE TABLE IF NOT EXISTS checkpoint_times_all  AS checkpoint_times
ENGINE = Distributed('it''s', currentDatabase(), checkpoint_times);

CREATE TABLE IF NOT EXISTS ingested_events_all  AS ingested_events
ENGINE = Distributed('it''s', currentDatabase(), ingested_events);

ALTER TABLE checkpoints  ADD COLUMN IF NOT EXISTS floor Int64 DEFAULT 0;

CREATE TABLE IF NOT EXISTS expired_rows  (
    epoch   UInt32 CODEC(ZSTD(1)),
    seq     UInt64 CODEC(Delta(8), ZSTD(1)),
    quarter Date   CODEC(ZSTD(1)),
    rows    UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (epoch, seq, quarter);

ALTER TABLE checkpoints_all  ADD COLUMN IF NOT EXISTS floor Int64 DEFAULT 0;

