-- The truth: every row that any capture gave, by pair. Answers the history of
-- a product, rebuilds and backfills the other tables. A row is known by
-- (epoch, seq, capture, offer): the stream's incarnation and sequence, the
-- place of the capture in its batch, the place of the offer in its capture.
--
-- Amounts are in minor units of currency, -1: not observed. is_prime and
-- is_buy_box: 0 not observed, 1 false, 2 true. rating_tenths: 255 none.
CREATE TABLE IF NOT EXISTS observations {{on_cluster}} (
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
ENGINE = {{engine "MergeTree"}}
PRIMARY KEY (item, site, captured_at)
ORDER BY (item, site, captured_at, epoch, seq, capture, offer);
