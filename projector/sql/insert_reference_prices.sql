-- Catalogue records, by their place in the stream.
INSERT INTO reference_prices (mandate, item, prices, version)
SELECT mandate, item, arrayZip(amounts, currencies, sites, quantities, types), version
FROM input('
    mandate UInt64, item UInt64, amounts Array(Int64), currencies Array(String), sites Array(String),
    quantities Array(String), types Array(String), version UInt64
')
WHERE {{not deposed}}
FORMAT Native
