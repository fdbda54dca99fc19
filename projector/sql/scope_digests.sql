-- The number of pairs of each scope in force, and the sum of the hashes of each
-- with its orders: tells whether a scope is the expected one without reading its
-- pairs out of the server. By key.
SELECT mandate, count() AS n, sum(xxHash64(concat(toString(item), ' ', arrayStringConcat(orders, ' '), ' ', site))) AS sum
FROM scope_pairs
WHERE (mandate, version) IN (SELECT mandate, max(version) FROM scopes GROUP BY mandate)
GROUP BY mandate
