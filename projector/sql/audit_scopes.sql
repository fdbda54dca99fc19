-- The scope in force of each mandate, and the one that its rows reflect.
SELECT mandate, max(in_force) AS in_force, max(applied) AS applied
FROM (
    SELECT mandate, version AS in_force, toUInt64(0) AS applied FROM scopes
    UNION ALL
    SELECT mandate, toUInt64(0) AS in_force, version AS applied FROM scopes_applied WHERE partition = {partition:UInt16}
)
GROUP BY mandate
ORDER BY mandate
