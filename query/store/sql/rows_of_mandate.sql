-- How many rows a mandate has in a window. Table observations_by_mandate, key
-- (mandate, captured_desc): nothing else is asked of it, so that ClickHouse
-- counts by the index, and reads where the window begins and ends alone.
SELECT count() AS rows
FROM {{.Shards.All "observations_by_mandate"}}
WHERE mandate = {mandate:UInt64}
{{- if .From}}
      AND captured_desc <= -{from_ms:Int64}
{{- end}}
{{- if .To}}
      AND captured_desc >= -{to_ms:Int64}
{{- end}}
