-- How many rows a mandate has in each part of a window, in the order of the
-- key. Table observations_by_mandate, key (mandate, captured_desc): only that
-- key is read. It counts what a read scans, not what it gives.
SELECT intDiv(captured_desc - {low:Int64}, {step:Int64}) AS part, count() AS n
FROM {{.All "observations_by_mandate"}}
WHERE mandate = {mandate:UInt64} AND captured_desc >= {low:Int64} AND captured_desc <= {high:Int64}
GROUP BY part
ORDER BY part
