-- Rows of observations, one block. Refused when a newer leader has begun.
INSERT INTO observations (
    item, site, captured_at, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant,
    is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
)
SELECT
    item, site, fromUnixTimestamp64Milli(captured_ms, 'UTC'), epoch, seq, capture, offer, outcome, currency,
    price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url,
    delivery_text
FROM input('
    item UInt64, site LowCardinality(String), captured_ms Int64, epoch UInt32, seq UInt64, capture UInt16,
    offer UInt16, outcome UInt8, currency LowCardinality(String), price_minor Int64, shipping_minor Int64,
    merchant LowCardinality(String), is_prime UInt8, is_buy_box UInt8, rating_tenths UInt8,
    manufacturer LowCardinality(String), title String, url String, delivery_text LowCardinality(String)
')
WHERE {{not deposed}}
FORMAT Native
