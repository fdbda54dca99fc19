DROP TABLE IF EXISTS bench_stage;
CREATE TABLE bench_stage (
    item UInt64, site LowCardinality(String), captured_at DateTime64(3, 'UTC'), epoch UInt32, seq UInt64, capture UInt16, offer UInt16,
    outcome UInt8, currency LowCardinality(String), price_minor Int64, shipping_minor Int64, merchant LowCardinality(String),
    is_prime UInt8, is_buy_box UInt8, rating_tenths UInt8, manufacturer LowCardinality(String), title String, url String,
    delivery_text LowCardinality(String), mandates Array(UInt64)
) ENGINE = Memory;
