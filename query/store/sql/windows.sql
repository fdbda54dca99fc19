-- How many rows each part of a window has, a sum of the hashes of their places,
-- which is the same in any order, and the newest place. Tables as of
-- results.sql: observations_by_mandate by its key, or observations by pair.
WITH {edges:Array(Int64)} AS edges
SELECT bucket, count(), sum(hash), tupleElement(max(place) AS newest, 1), tupleElement(newest, 2)
FROM (
    SELECT
        toUInt32({{template "bucket_of"}}(ms, edges), edges, arrayEnumerate(edges), 0)) AS bucket,
        cityHash64(epoch, seq, capture, offer) AS hash, (epoch, seq) AS place
    FROM (
        SELECT {{if .ByPair}}toUnixTimestamp64Milli(captured_at){{else}}-captured_desc{{end}} AS ms, epoch, seq, capture, offer
        FROM {{if .ByPair}}{{.Shards.All "observations"}}{{else}}{{.Shards.All "observations_by_mandate"}}{{end}}
        WHERE {{template "history_where" .}}
{{- template "filters" .}}
    )
)
GROUP BY bucket
ORDER BY bucket
