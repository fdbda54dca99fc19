-- The same rows, written once for each mandate whose scope holds the pair, in
-- the order in which windows are read: newest first, as a negated time (a
-- descending key drops rows in this ClickHouse). A page of a mandate is one
-- range of the primary key, whatever other mandates store.
CREATE TABLE IF NOT EXISTS observations_by_mandate {{on_cluster}} (
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
ENGINE = {{engine "MergeTree"}}
PRIMARY KEY (mandate, captured_desc, item, site)
ORDER BY (mandate, captured_desc, item, site, epoch, seq, capture, offer)
-- A page is spread over all parts; what is read of each is rounded up to granules.
SETTINGS index_granularity = 2048;
