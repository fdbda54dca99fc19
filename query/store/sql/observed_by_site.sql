-- How many pairs of each site a read of results.sql has a row of. Tables and
-- keys as there.
SELECT toString(site), uniqExact(item)
FROM ({{template "results.sql" .}})
GROUP BY site
ORDER BY site
