-- The tables as version 15 made them, and some rows. Never changed, so that
-- every later program is tested on what it may find.

CREATE TABLE accounts
(
    `account` UInt64,
    `mandate` UInt64,
    `login_identifier` String,
    `password_hash` String,
    `administrative` Bool,
    `disabled` Bool,
    `permissions` Array(LowCardinality(String)),
    `all_orders` Bool,
    `orders` Array(UInt64),
    `all_sites` Bool,
    `sites` Array(String),
    `version` UInt64,
    INDEX ix_login login_identifier TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY account
SETTINGS index_granularity = 8192;

CREATE TABLE checkpoint_times
(
    `partition` UInt16 CODEC(ZSTD(1)),
    `epoch` UInt32 CODEC(ZSTD(1)),
    `seq` UInt64 CODEC(Delta(8), ZSTD(1)),
    `written_at` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (partition, epoch, seq)
SETTINGS index_granularity = 256;

CREATE TABLE checkpoints
(
    `stream` LowCardinality(String),
    `partition` UInt16,
    `epoch` UInt32,
    `seq` UInt64,
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3),
    `version` UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(epoch), 64), toUInt128(seq)),
    `partitions` UInt32 DEFAULT 1,
    `proven` Bool DEFAULT false,
    `events` UInt64 DEFAULT 0,
    `events_sum` UInt64 DEFAULT 0,
    `rows` UInt64 DEFAULT 0,
    `rows_sum` UInt64 DEFAULT 0,
    `floor` Int64 DEFAULT 0
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (stream, partition)
SETTINGS index_granularity = 8192;

CREATE TABLE customer_data
(
    `mandate` UInt64,
    `item` UInt64,
    `category` String,
    `fields` Map(String, String),
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, item)
SETTINGS index_granularity = 8192;

CREATE TABLE expired_rows
(
    `epoch` UInt32 CODEC(ZSTD(1)),
    `seq` UInt64 CODEC(Delta(8), ZSTD(1)),
    `quarter` Date CODEC(ZSTD(1)),
    `rows` UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (epoch, seq, quarter)
SETTINGS index_granularity = 8192;

CREATE TABLE file_archives
(
    `mandate` UInt64,
    `direction` Enum8('export' = 1, 'import' = 2),
    `order_id` UInt64,
    `archive` UInt64,
    `file_job` UInt64,
    `archived_at` DateTime64(3, 'UTC'),
    `files` Array(Tuple(
        name String,
        filename String,
        size_bytes Int64,
        sha256 String)),
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, direction, order_id, archive)
SETTINGS index_granularity = 8192;

CREATE TABLE file_jobs
(
    `mandate` UInt64,
    `direction` Enum8('export' = 1, 'import' = 2),
    `order_id` UInt64,
    `file_job` UInt64,
    `name` String,
    `created_at` DateTime64(3, 'UTC'),
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, direction, order_id, file_job)
SETTINGS index_granularity = 8192;

CREATE TABLE ingested_events
(
    `event_id` UUID,
    `epoch` UInt32 CODEC(ZSTD(1)),
    `seq` UInt64 CODEC(ZSTD(1)),
    `captures` UInt16 CODEC(ZSTD(1)),
    `rows` UInt32 CODEC(ZSTD(1)),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 4
)
ENGINE = MergeTree
ORDER BY (event_id, epoch, seq)
SETTINGS index_granularity = 512;

CREATE TABLE items
(
    `item` UInt64,
    `ean` String,
    `pzn` String,
    `asin` String,
    `asin_locale` LowCardinality(String),
    `name` String,
    `brand` LowCardinality(String),
    `manufacturer` LowCardinality(String),
    `version` UInt64,
    INDEX ix_ean ean TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX ix_pzn pzn TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX ix_asin asin TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY item
SETTINGS index_granularity = 8192;

CREATE TABLE latest_observations
(
    `item` UInt64,
    `site` LowCardinality(String),
    `captured_at` DateTime64(3, 'UTC'),
    `epoch` UInt32,
    `seq` UInt64,
    `capture` UInt16,
    `outcome` Enum8('unknown' = 0, 'priceObserved' = 1, 'unavailable' = 2, 'productNotFound' = 3, 'accessRestricted' = 4, 'siteUnavailable' = 5),
    `offer` Array(UInt16),
    `currency` Array(LowCardinality(String)),
    `price_minor` Array(Int64),
    `shipping_minor` Array(Int64),
    `merchant` Array(LowCardinality(String)),
    `is_prime` Array(UInt8),
    `is_buy_box` Array(UInt8),
    `rating_tenths` Array(UInt8),
    `manufacturer` Array(LowCardinality(String)),
    `title` Array(String),
    `url` Array(String),
    `delivery_text` Array(LowCardinality(String)),
    `version` UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(captured_at)), 84), bitOr(bitShiftLeft(toUInt128(epoch), 52), bitOr(bitShiftLeft(toUInt128(seq), 10), toUInt128(capture))))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (item, site)
SETTINGS index_granularity = 256;

CREATE TABLE leader_fences
(
    `partition` UInt16,
    `fence` UInt64,
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(fence)
ORDER BY partition
SETTINGS index_granularity = 8192;

CREATE TABLE mandates
(
    `mandate` UInt64,
    `name` String,
    `package_name` String,
    `max_items` UInt64,
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY mandate
SETTINGS index_granularity = 8192;

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

CREATE TABLE observations_by_mandate
(
    `mandate` UInt64 CODEC(Delta(8), ZSTD(1)),
    `captured_desc` Int64 CODEC(Delta(8), ZSTD(1)),
    `item` UInt64 CODEC(ZSTD(1)),
    `site` LowCardinality(String) CODEC(ZSTD(1)),
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
    `captured_at` DateTime64(3, 'UTC') ALIAS fromUnixTimestamp64Milli(-captured_desc, 'UTC'),
    INDEX ix_seq (epoch, seq) TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PRIMARY KEY (mandate, captured_desc, item, site)
ORDER BY (mandate, captured_desc, item, site, epoch, seq, capture, offer)
SETTINGS index_granularity = 2048;

CREATE TABLE orders
(
    `mandate` UInt64,
    `order_id` UInt64,
    `alias` String,
    `name` String,
    `active` Bool,
    `created_at` DateTime64(3, 'UTC'),
    `items` Array(UInt64),
    `sites` Array(String),
    `interval_minutes` UInt32,
    `last_run_at` Nullable(DateTime64(3, 'UTC')),
    `next_run_at` Nullable(DateTime64(3, 'UTC')),
    `counters` Array(Tuple(
        site String,
        configured UInt32,
        expected UInt32,
        processed UInt32)),
    `version` UInt64,
    `legacy` Bool,
    `memberships` Array(Tuple(
        item UInt64,
        sites String))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, order_id)
SETTINGS index_granularity = 8192;

CREATE TABLE reference_prices
(
    `mandate` UInt64,
    `item` UInt64,
    `prices` Array(Tuple(
        amount_minor Int64,
        currency String,
        site String,
        quantity String,
        price_type String)),
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, item)
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

CREATE TABLE scope_pairs
(
    `mandate` UInt64,
    `version` UInt64,
    `item` UInt64,
    `site` LowCardinality(String),
    `orders` Array(UInt64)
)
ENGINE = MergeTree
ORDER BY (mandate, version, item, site)
SETTINGS index_granularity = 8192;

CREATE TABLE scopes
(
    `mandate` UInt64,
    `version` UInt64,
    `pairs` UInt64,
    `items` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY mandate
SETTINGS index_granularity = 8192;

CREATE TABLE scopes_applied
(
    `mandate` UInt64,
    `partition` UInt16,
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (mandate, partition)
SETTINGS index_granularity = 8192;

CREATE TABLE sites
(
    `site` String,
    `name` String,
    `site_type` LowCardinality(String),
    `country_code` LowCardinality(String),
    `currency` LowCardinality(String),
    `operator` LowCardinality(String),
    `canonical_country_market` Bool,
    `price_comparison_market` Bool,
    `version` UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY site
SETTINGS index_granularity = 8192;

INSERT INTO accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites, version) VALUES
(11,1,'past@example.com','$argon2id$v=19$m=19456,t=2,p=1$Bel/juX7cL2j4LWoLd543g$odnlUHBqwI+h6s8w6ONCbl1vM4nR/pbN/KGrOS3advc',false,false,['sites','items','orders','results','files'],true,[],true,[],7301444403200000007);

INSERT INTO checkpoint_times (partition, epoch, seq, written_at) VALUES
(0,0,0,'1970-01-01 00:00:00.000'),
(0,1700000000,2,'2026-10-01 10:00:01.000');

INSERT INTO checkpoints (stream, partition, epoch, seq, written_at, partitions, proven, events, events_sum, rows, rows_sum, floor) VALUES
('CATALOG',0,1700000000,20,'2026-10-01 09:00:00.000',1,false,0,0,0,0,0),
('OBSERVATIONS',0,1700000000,3,'2026-10-01 11:00:01.000',1,false,0,0,0,0,0);

INSERT INTO customer_data (mandate, item, category, fields, version) VALUES
(1,1,'Category',{'key':'value'},7301444403200000011);

INSERT INTO expired_rows (epoch, seq, quarter, rows) VALUES
(1700000000,1,'2000-01-01',1);

INSERT INTO file_archives (mandate, direction, order_id, archive, file_job, archived_at, files, version) VALUES
(1,'export',101,401,301,'2026-09-03 00:00:00.000',[('a.csv','a-1.csv',3,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')],7301444403200000013);

INSERT INTO file_jobs (mandate, direction, order_id, file_job, name, created_at, version) VALUES
(1,'export',101,301,'Export','2026-09-02 00:00:00.000',7301444403200000012);

INSERT INTO ingested_events (event_id, epoch, seq, captures, rows) VALUES
('00000000-0000-4000-8000-000000000001',1700000000,1,1,1),
('00000000-0000-4000-8000-000000000002',1700000000,2,1,2),
('00000000-0000-4000-8000-000000000003',1700000000,3,1,1);

INSERT INTO items (item, ean, pzn, asin, asin_locale, name, brand, manufacturer, version) VALUES
(1,'4006381333931','','','','Item 1','A','Maker GmbH',7301444403200000003),
(2,'','01234562','B000000001','de','Item 2','B','',7301444403200000004);

INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text) VALUES
(1,'alpha.example','2026-10-01 10:00:00.001',1700000000,1,0,'priceObserved',[0],['EUR'],[1999],[490],['Händler\'s \\ "Shop"'],[2],[1],[45],['Maker GmbH'],['Titel\t1;\n'],['https://alpha.example/1'],['sofort']),
(1,'beta.example','2026-10-01 10:00:00.002',1700000000,2,0,'priceObserved',[0,1],['EUR','EUR'],[2100,2200],[-1,0],['B','C'],[0,0],[0,0],[255,255],['',''],['',''],['',''],['','']),
(2,'alpha.example','2026-10-01 11:00:00.000',1700000000,3,0,'unavailable',[0],[''],[-1],[-1],[''],[0],[0],[255],[''],[''],[''],['']);

INSERT INTO leader_fences (partition, fence, written_at) VALUES
(0,3,'2026-10-01 09:00:00.000');

INSERT INTO mandates (mandate, name, package_name, max_items, version) VALUES
(1,'Mandate 1','small',10,7301444403200000005),
(2,'Mandate 2','small',10,7301444403200000006);

INSERT INTO observations (item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text) VALUES
(1,'alpha.example','2026-10-01 10:00:00.001',1700000000,1,0,0,'priceObserved','EUR',1999,490,'Händler\'s \\ "Shop"',2,1,45,'Maker GmbH','Titel\t1;\n','https://alpha.example/1','sofort'),
(1,'beta.example','2026-10-01 10:00:00.002',1700000000,2,0,0,'priceObserved','EUR',2100,-1,'B',0,0,255,'','','',''),
(1,'beta.example','2026-10-01 10:00:00.002',1700000000,2,0,1,'priceObserved','EUR',2200,0,'C',0,0,255,'','','',''),
(2,'alpha.example','2026-10-01 11:00:00.000',1700000000,3,0,0,'unavailable','',-1,-1,'',0,0,255,'','','','');

INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text) VALUES
(1,-1790848800001,1,'alpha.example',1700000000,1,0,0,'priceObserved','EUR',1999,490,'Händler\'s \\ "Shop"',2,1,45,'Maker GmbH','Titel\t1;\n','https://alpha.example/1','sofort'),
(1,-1790848800002,1,'beta.example',1700000000,2,0,0,'priceObserved','EUR',2100,-1,'B',0,0,255,'','','',''),
(1,-1790848800002,1,'beta.example',1700000000,2,0,1,'priceObserved','EUR',2200,0,'C',0,0,255,'','','',''),
(1,-1790852400000,2,'alpha.example',1700000000,3,0,0,'unavailable','',-1,-1,'',0,0,255,'','','',''),
(2,-1790848800001,1,'alpha.example',1700000000,1,0,0,'priceObserved','EUR',1999,490,'Händler\'s \\ "Shop"',2,1,45,'Maker GmbH','Titel\t1;\n','https://alpha.example/1','sofort');

INSERT INTO orders (mandate, order_id, alias, name, active, created_at, items, sites, interval_minutes, last_run_at, next_run_at, counters, version, legacy, memberships) VALUES
(1,101,'alias','Order 1',true,'2026-09-01 00:00:00.000',[1,2],['alpha.example','beta.example'],60,NULL,'2026-10-01 12:00:00.000',[('alpha.example',2,2,1)],7301444403200000008,false,[]),
(1,102,'','Order 3',false,'2026-09-01 00:00:00.000',[2],['beta.example'],0,NULL,NULL,[],7301444403200000014,true,[(2,'beta.example')]),
(2,201,'','Order 2',true,'2026-09-01 00:00:00.000',[1],['alpha.example'],0,NULL,NULL,[],7301444403200000009,false,[]);

INSERT INTO reference_prices (mandate, item, prices, version) VALUES
(1,1,[(1899,'EUR','','1','uvp')],7301444403200000010);

INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
(1,'observations','10177e8764701cd69a630111ad89b2173b79f88595b9ca90fd5ea59b91e6f37b','2026-01-01 00:00:00.000'),
(10,'checkpoint_partitions','9b8265373c341c51e9e02d9351bce561847d43d2da9cbe0e4c712a30772e1ad9','2026-01-01 00:00:00.000'),
(11,'shards','27757c9ba7fec44783c69d396ca950c77f04b222de93ba0cb7107e8ce244b319','2026-01-01 00:00:00.000'),
(12,'proof','b6b0116c0e9be94ddd82648bf1319a370e744ba342de83333f44fc33c12bdcc3','2026-01-01 00:00:00.000'),
(13,'visible','ccf5403a4b657aa319151cad66440f006d6b505857ca2e0ececfc2543668f349','2026-01-01 00:00:00.000'),
(14,'floor','016d8a1591771e8f3d506f3b2828ba4e8065f4aa286934c82469cb99ed22b9dc','2026-01-01 00:00:00.000'),
(15,'granules','b415fff1aad3b19c8b14031aa3e2bbf04ba0159b806439f9cd7d059037d5966e','2026-01-01 00:00:00.000'),
(2,'observations_by_mandate','f98520e5f210d79e951c37c9b8cb28e9ce32afed1ddbe62cce3e8aebac1ce1c0','2026-01-01 00:00:00.000'),
(3,'latest_observations','131224ebf5e7b968ca1e51e676a69469bb54089a36806c980ef71faf9dafc0c5','2026-01-01 00:00:00.000'),
(4,'ingested_events','9ceba863ac01fda2f276919fd847f07dcb0117c84de94e0b47f8def8b6317f68','2026-01-01 00:00:00.000'),
(5,'checkpoints','5bee8b96e1242661199c13c6c0e58f732e055ab14a9ed2a44a62c501ea065660','2026-01-01 00:00:00.000'),
(6,'scope','30d548e09b34705ad872a18ea26f380bb66d560a341fa46e8d51b9f37113c54d','2026-01-01 00:00:00.000'),
(7,'catalog','a2422956dc9b6a4ffb9ff93947729e556ac46496efeda34f6396d6136a533b09','2026-01-01 00:00:00.000'),
(8,'fences','dc24a6497433eccfdaaeac9b1312327bef3dfa2b0be61b3d70bb1771b384643f','2026-01-01 00:00:00.000'),
(9,'order_memberships','4de62aa7774fb1e6644cde4a39773fbff34956321d224e776471e039483e03b7','2026-01-01 00:00:00.000');

INSERT INTO scope_pairs (mandate, version, item, site, orders) VALUES
(1,7,1,'alpha.example',[101]),
(1,7,1,'beta.example',[101]),
(1,7,2,'alpha.example',[101]),
(1,7,2,'beta.example',[101]),
(2,1,1,'alpha.example',[201]);

INSERT INTO scopes (mandate, version, pairs, items) VALUES
(1,7,4,2),
(2,1,1,1);

INSERT INTO scopes_applied (mandate, partition, version) VALUES
(1,0,7),
(2,0,1);

INSERT INTO sites (site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market, version) VALUES
('alpha.example','Alpha','shop','DE','EUR','',false,false,7301444403200000001),
('beta.example','Beta','shop','AT','EUR','Beta AG',false,false,7301444403200000002);

