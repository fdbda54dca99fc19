-- What some accounts may do and what is in force for some mandates and, applied,
-- what observations_by_mandate reflects, for all that wait. Tables accounts (key
-- account), scopes and scopes_applied (key mandate). Rows of older versions that
-- are not merged away yet come too: a few, and FINAL or an aggregation would take
-- as long again as the reading.
SELECT
    'account' AS part, account AS id, mandate AS of, version AS number,
    administrative, disabled, CAST(permissions, 'Array(String)') AS permissions, all_orders, orders, all_sites, sites
FROM accounts
WHERE account IN {accounts:Array(UInt64)}
UNION ALL
SELECT 'scope', mandate, pairs, version, false, false, [], false, [], false, []
FROM {{.All "scopes"}}
WHERE mandate IN {mandates:Array(UInt64)}
UNION ALL
SELECT 'applied', mandate, partition, version, false, false, [], false, [], false, []
FROM {{.All "scopes_applied"}}
WHERE mandate IN {mandates:Array(UInt64)}
