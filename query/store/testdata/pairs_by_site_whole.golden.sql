-- How many visible pairs each site has under selectors. Table scope_pairs, key
-- (mandate, version, item, site).
SELECT site, uniqExact(item) AS pairs
FROM (SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version = {version:UInt64})
GROUP BY site
ORDER BY site

-- values
-- mandate = 7
-- version = 3
