-- Catalogue records, by their place in the stream.
INSERT INTO items (item, ean, pzn, asin, asin_locale, name, brand, manufacturer, version)
SELECT item, ean, pzn, asin, asin_locale, name, brand, manufacturer, version
FROM input('item UInt64, ean String, pzn String, asin String, asin_locale String, name String, brand String, manufacturer String, version UInt64')
WHERE {{not deposed}}
FORMAT Native
