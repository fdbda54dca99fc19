-- The fields that results have with includeExportFields, under their names, as SQL
-- over the tables can give them: texts for ids, times and states in words, money as
-- numbers and as objects, and the mandate's own reference prices joined in.
WITH
    transform(currency, ['JPY', 'KWD'], [0, 3], 2) AS digits,
    (minor, code) -> CAST((if(minor < 0, NULL, minor / pow(10, digits)), if(minor < 0, NULL, minor), if(minor < 0, NULL, code)), 'Tuple(value Nullable(Float64), amountMinor Nullable(Int64), currencyCode LowCardinality(Nullable(String)))') AS money,
    if(price_minor < 0 OR shipping_minor < 0, -1, price_minor + shipping_minor) AS total_minor
SELECT
    toString(item) AS itemId, site, fromUnixTimestamp64Milli(-captured_desc, 'UTC') AS capturedAt,
    CAST(transform(toUInt8(outcome), [1, 2, 3], ['AVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE'], 'UNKNOWN'), 'LowCardinality(String)') AS availability,
    money(price_minor, currency).1 AS price, money(price_minor, currency) AS priceMoney, currency AS currencyCode, merchant,
    url AS productUrl, title AS offerTitle,
    money(shipping_minor, currency).1 AS shippingCost, money(shipping_minor, currency) AS shippingCostMoney,
    money(total_minor, currency).1 AS totalPrice, money(total_minor, currency) AS totalPriceMoney,
    delivery_text AS deliveryText, manufacturer,
    if(is_prime = 0, NULL, is_prime = 2) AS isPrime, if(is_buy_box = 0, NULL, is_buy_box = 2) AS isBuyBox,
    CAST((if(rating_tenths = 255, NULL, rating_tenths / 10), if(rating_tenths = 255, NULL, 5)), 'Tuple(value Nullable(Float64), scale Nullable(Int64))') AS productRating,
    arrayMap(p -> CAST((p.1 / 100, p.1, p.2, nullIf(p.3, ''), nullIf(p.4, ''), nullIf(p.5, '')), 'Tuple(value Float64, amountMinor Int64, currencyCode LowCardinality(String), appliesToSite LowCardinality(Nullable(String)), referenceQuantity Nullable(String), priceType LowCardinality(Nullable(String)))'),
        arrayFilter(p -> p.3 IN ('', toString(site)), prices)) AS customerReferencePrices,
    if(length(customerReferencePrices) = 1, customerReferencePrices[1].1, NULL) AS referencePrice,
    CAST((referencePrice, if(referencePrice IS NULL, NULL, customerReferencePrices[1].2), if(referencePrice IS NULL, NULL, customerReferencePrices[1].3)), 'Tuple(value Nullable(Float64), amountMinor Nullable(Int64), currencyCode LowCardinality(Nullable(String)))') AS referencePriceMoney
FROM ({{.Rows}}) AS r
LEFT JOIN (SELECT item, prices FROM reference_prices FINAL WHERE mandate = {{.Mandate}}) AS p USING (item)
ORDER BY {{.Order}}
