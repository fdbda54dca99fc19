-- Catalogue records, by their place in the stream.
INSERT INTO customer_data (mandate, item, category, fields, version)
SELECT mandate, item, category, mapFromArrays(names, texts), version
FROM input('mandate UInt64, item UInt64, category String, names Array(String), texts Array(String), version UInt64')
WHERE {{not deposed}}
FORMAT Native
