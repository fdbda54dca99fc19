-- Catalogue records, by their place in the stream.
INSERT INTO mandates (mandate, name, package_name, max_items, version)
SELECT mandate, name, package_name, max_items, version
FROM input('mandate UInt64, name String, package_name String, max_items UInt64, version UInt64')
WHERE throwIf((SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16}) > ({fence:UInt64}, {begun:Int64}), 'deposed') = 0
FORMAT Native
