-- Catalogue records, by their place in the stream.
INSERT INTO mandates (mandate, name, package_name, max_items, version)
SELECT mandate, name, package_name, max_items, version
FROM input('mandate UInt64, name String, package_name String, max_items UInt64, version UInt64')
WHERE {{not deposed}}
FORMAT Native
