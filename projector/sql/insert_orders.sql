-- Catalogue records, by their place in the stream.
-- Times are Unix milliseconds; an empty list stands for none.
INSERT INTO orders (
    mandate, order_id, alias, name, active, created_at, items, sites, interval_minutes, last_run_at, next_run_at, counters, legacy, memberships, version
)
SELECT
    mandate, order_id, alias, name, active, fromUnixTimestamp64Milli(created_ms, 'UTC'), items, sites, interval_minutes,
    if(empty(last_run_ms), NULL, fromUnixTimestamp64Milli(last_run_ms[1], 'UTC')),
    if(empty(next_run_ms), NULL, fromUnixTimestamp64Milli(next_run_ms[1], 'UTC')),
    arrayMap((s, c, e, p) -> (s, toUInt32(c), toUInt32(e), toUInt32(p)), counter_sites, configured, expected, processed),
    legacy, arrayMap((i, s) -> (i, s), members, member_sites), version
FROM input('
    mandate UInt64, order_id UInt64, alias String, name String, active Bool, created_ms Int64, items Array(UInt64),
    sites Array(String), interval_minutes UInt64, last_run_ms Array(Int64), next_run_ms Array(Int64),
    counter_sites Array(String), configured Array(UInt64), expected Array(UInt64), processed Array(UInt64),
    legacy Bool, members Array(UInt64), member_sites Array(String), version UInt64
')
WHERE {{not deposed}}
FORMAT Native
