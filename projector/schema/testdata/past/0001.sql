-- The tables as version 1 made them, and some rows. Never changed, so that
-- every later program is tested on what it may find.

CREATE TABLE observations
(
    `item` UInt64 CODEC(Delta(8), ZSTD(1)),
    `site` LowCardinality(String) CODEC(ZSTD(1)),
    `captured_at` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `epoch` UInt32 CODEC(ZSTD(1)),
    `seq` UInt64 CODEC(Delta(8), ZSTD(1)),
    `capture` UInt16 CODEC(ZSTD(1)),
    `offer` UInt16 CODEC(ZSTD(1)),
    `outcome` Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5) CODEC(ZSTD(1)),
    `currency` LowCardinality(String) CODEC(ZSTD(1)),
    `price_minor` Int64 CODEC(ZSTD(1)),
    `shipping_minor` Int64 CODEC(ZSTD(1)),
    `merchant` LowCardinality(String) CODEC(ZSTD(1)),
    `is_prime` UInt8 CODEC(ZSTD(1)),
    `is_buy_box` UInt8 CODEC(ZSTD(1)),
    `rating_tenths` UInt8 CODEC(ZSTD(1)),
    `manufacturer` LowCardinality(String) CODEC(ZSTD(1)),
    `title` String CODEC(ZSTD(1)),
    `url` String CODEC(ZSTD(1)),
    `delivery_text` LowCardinality(String) CODEC(ZSTD(1)),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PRIMARY KEY (item, site, captured_at)
ORDER BY (item, site, captured_at, epoch, seq, capture, offer)
SETTINGS index_granularity = 8192;

CREATE TABLE schema_migrations
(
    `version` UInt32,
    `name` String,
    `sha256` String,
    `applied_at` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY version
SETTINGS index_granularity = 8192;

INSERT INTO observations (item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text) VALUES
(1,'alpha.example','2026-10-01 10:00:00.001',1700000000,1,0,0,'priceObserved','EUR',1999,490,'Händler\'s \\ "Shop"',2,1,45,'Maker GmbH','Titel\t1;\n','https://alpha.example/1','sofort'),
(1,'beta.example','2026-10-01 10:00:00.002',1700000000,2,0,0,'priceObserved','EUR',2100,-1,'B',0,0,255,'','','',''),
(1,'beta.example','2026-10-01 10:00:00.002',1700000000,2,0,1,'priceObserved','EUR',2200,0,'C',0,0,255,'','','',''),
(2,'alpha.example','2026-10-01 11:00:00.000',1700000000,3,0,0,'unavailable','',-1,-1,'',0,0,255,'','','','');

INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
(1,'observations','10177e8764701cd69a630111ad89b2173b79f88595b9ca90fd5ea59b91e6f37b','2026-01-01 00:00:00.000');

