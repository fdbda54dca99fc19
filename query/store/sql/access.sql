-- What an account may do now. Tables accounts (key account), scopes and
-- scopes_applied (key mandate), checkpoints: one row a partition.
SELECT
    a.mandate AS mandate, a.administrative AS administrative, a.disabled AS disabled, a.permissions AS permissions,
    a.all_orders AS all_orders, a.orders AS orders, a.all_sites AS all_sites, a.sites AS sites,
    s.version AS version, ap.version AS applied,
    tupleElement(w.place, 1) AS epoch, tupleElement(w.place, 2) AS seq
FROM (SELECT * FROM accounts FINAL WHERE account = {account:UInt64}) AS a
LEFT JOIN (
    SELECT mandate, max(version) AS version
    FROM scopes
    WHERE mandate IN (SELECT mandate FROM accounts WHERE account = {account:UInt64})
    GROUP BY mandate
) AS s ON s.mandate = a.mandate
LEFT JOIN (
    SELECT mandate, min(newest) AS version
    FROM (
        SELECT mandate, partition, max(version) AS newest
        FROM scopes_applied
        WHERE mandate IN (SELECT mandate FROM accounts WHERE account = {account:UInt64})
        GROUP BY mandate, partition
    )
    GROUP BY mandate
) AS ap ON ap.mandate = a.mandate
CROSS JOIN (
    SELECT min(newest) AS place
    FROM (SELECT partition, max((epoch, seq)) AS newest FROM checkpoints WHERE stream = 'OBSERVATIONS' GROUP BY partition)
) AS w
