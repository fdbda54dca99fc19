-- Master data: the last record of each id. version is the record's place in
-- the stream CATALOG: epoch * 2^32 + seq. Read with FINAL.
CREATE TABLE IF NOT EXISTS sites {{on_cluster}} (
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
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY site;

CREATE TABLE IF NOT EXISTS items {{on_cluster}} (
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
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY item;

CREATE TABLE IF NOT EXISTS mandates {{on_cluster}} (
    mandate      UInt64,
    name         String,
    package_name String,
    max_items    UInt64,
    version      UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY mandate;

CREATE TABLE IF NOT EXISTS accounts {{on_cluster}} (
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
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY account;

CREATE TABLE IF NOT EXISTS orders {{on_cluster}} (
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
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, order_id);

CREATE TABLE IF NOT EXISTS reference_prices {{on_cluster}} (
    mandate UInt64,
    item    UInt64,
    prices  Array(Tuple(amount_minor Int64, currency String, site String, quantity String, price_type String)),
    version UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, item);

CREATE TABLE IF NOT EXISTS customer_data {{on_cluster}} (
    mandate  UInt64,
    item     UInt64,
    category String,
    fields   Map(String, String),
    version  UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, item);

CREATE TABLE IF NOT EXISTS file_jobs {{on_cluster}} (
    mandate    UInt64,
    direction  Enum8('export' = 1, 'import' = 2),
    order_id   UInt64,
    file_job   UInt64,
    name       String,
    created_at DateTime64(3, 'UTC'),
    version    UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, direction, order_id, file_job);

CREATE TABLE IF NOT EXISTS file_archives {{on_cluster}} (
    mandate     UInt64,
    direction   Enum8('export' = 1, 'import' = 2),
    order_id    UInt64,
    archive     UInt64,
    file_job    UInt64,
    archived_at DateTime64(3, 'UTC'),
    files       Array(Tuple(name String, filename String, size_bytes Int64, sha256 String)),
    version     UInt64
)
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (mandate, direction, order_id, archive);
