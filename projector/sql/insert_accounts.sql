-- Catalogue records, by their place in the stream.
INSERT INTO accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites, version)
SELECT account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, orders, all_sites, sites, version
FROM input('account UInt64, mandate UInt64, login_identifier String, password_hash String, administrative Bool, disabled Bool, permissions Array(String), all_orders Bool, orders Array(UInt64), all_sites Bool, sites Array(String), version UInt64')
WHERE {{not deposed}}
FORMAT Native
