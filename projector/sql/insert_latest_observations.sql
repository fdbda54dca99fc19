-- Captures with their rows as arrays.
INSERT INTO latest_observations (
    item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor, merchant,
    is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
)
SELECT
    item, site, fromUnixTimestamp64Milli(captured_ms, 'UTC'), epoch, seq, capture, outcome, offer, currency,
    price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url,
    delivery_text
FROM input('
    item UInt64, site LowCardinality(String), captured_ms Int64, epoch UInt32, seq UInt64, capture UInt16,
    outcome UInt8, offer Array(UInt16), currency Array(LowCardinality(String)), price_minor Array(Int64),
    shipping_minor Array(Int64), merchant Array(LowCardinality(String)), is_prime Array(UInt8),
    is_buy_box Array(UInt8), rating_tenths Array(UInt8), manufacturer Array(LowCardinality(String)),
    title Array(String), url Array(String), delivery_text Array(LowCardinality(String))
')
WHERE {{not deposed}}
FORMAT Native
