-- The version of the scope that is in force for the account's mandate, and the
-- one that observations_by_mandate reflects; equal: it holds just that scope.
-- Tables scopes and scopes_applied, key mandate.
SELECT max(in_force) AS version, max(reflected) AS applied
FROM (
    SELECT version AS in_force, toUInt64(0) AS reflected
    FROM scopes
    WHERE mandate IN (SELECT mandate FROM accounts WHERE account = {account:UInt64})
    UNION ALL
    SELECT toUInt64(0), min(newest)
    FROM (
        SELECT partition, max(version) AS newest
        FROM scopes_applied
        WHERE mandate IN (SELECT mandate FROM accounts WHERE account = {account:UInt64})
        GROUP BY partition
    )
)
