-- When each visible pair of some items was last captured. Table
-- latest_observations, key (item, site).
SELECT item, site, captured_at
FROM {{.Shards.All "latest_observations"}} FINAL
WHERE item IN {items:Array(UInt64)}
  AND (item, site) IN ({{template "pairs" .}})
{{- template "kept" .}}
ORDER BY item, site
