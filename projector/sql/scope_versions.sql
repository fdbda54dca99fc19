-- The versions of each mandate's scope: in force, applied by this partition,
-- the oldest written, and the greatest number ever given to one.
SELECT mandate, max(f) AS in_force, max(a) AS applied, min(o) AS oldest, max(greatest(f, a, n)) AS newest
FROM (
    SELECT mandate, max(version) AS f, toUInt64(0) AS a, toUInt64(18446744073709551615) AS o, toUInt64(0) AS n FROM scopes GROUP BY mandate
    UNION ALL
    SELECT mandate, toUInt64(0), max(version), toUInt64(18446744073709551615), toUInt64(0)
    FROM scopes_applied WHERE partition = {partition:UInt16} GROUP BY mandate
    UNION ALL
    SELECT mandate, toUInt64(0), toUInt64(0), min(version), max(version) FROM scope_pairs GROUP BY mandate
)
GROUP BY mandate
ORDER BY mandate
