-- The newest capture of each pair with all of its rows, as parallel arrays of
-- at least one element: the latest row and the latest whole set of a pair are
-- both one row here. The version orders captures as results are ordered: by
-- capture time, then epoch, sequence and place in the batch; so a replay or a
-- late event never replaces a newer capture. Read with FINAL.
CREATE TABLE IF NOT EXISTS latest_observations {{on_cluster}} (
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
ENGINE = {{engine "ReplacingMergeTree(version)"}}
ORDER BY (item, site)
-- Pairs are read one by one, and what is read is rounded up to granules.
SETTINGS index_granularity = 256;
