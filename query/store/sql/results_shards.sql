{{- /* The reads of results.sql over several shards. All conditions, the order and the limit stand where the Distributed table is named, so that every shard sorts and cuts its own rows and this server only merges them; sub-selects name the tables of the shard. A pair is on one shard, so its newest capture is there too. */ -}}
{{- define "results_of_shards" -}}
{{- if .FromLatest -}}
SELECT *
FROM (
(SELECT {{template "given_of_shards" .}}
FROM latest_observations_all FINAL
ARRAY JOIN {{template "offers" .}}
{{- if .NewestRow}}, {{template "standing_of_arrays"}} AS standing{{end}}
WHERE (item, site) IN ({{template "pairs" .}})
{{- if not .Current}}
      AND NOT {{template "newer_capture" .}}
{{- end}}
{{- template "since" .}}
{{- if .NewestRow}}
      AND offer = standing
{{- end}}
{{- template "rest_of_shards" .}})
{{- if not .Current}}
UNION ALL
(SELECT {{template "given_of_shards" .}}
FROM observations_all
WHERE {{template "behind" .}}
{{- template "rest_of_shards" .}})
{{- end}}
)
ORDER BY {{if .Current}}{{template "newer" .}} DESC, {{end}}{{if .Ascending}}captured_ms, {{else}}captured_ms DESC, {{end}}{{template "order_of_equals" .}}
{{- template "limit" .}}
{{- else -}}
SELECT {{template "given_of_shards" .}}
FROM {{if .ByPair}}observations_all{{else}}observations_by_mandate_all{{end}}
WHERE {{template "history_where" .}}
{{- template "rest_of_shards" .}}
{{- end}}
{{- end -}}

{{- define "given_of_shards" -}}
item, site, {{if or .FromLatest .ByPair}}-(-toUnixTimestamp64Milli(captured_at) AS captured_desc){{else}}-captured_desc{{end}} AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    {{template "offered" .}}
{{- end -}}

{{- /* What follows the choice of rows. A newest row is the newest that the filters leave. */ -}}
{{- define "rest_of_shards" -}}
{{- if .FromLatest}}
      AND ({{if .Current}}{{template "newer" .}} OR {{end}}1
{{- template "filters" .}})
{{- else if .NewestWhole}}
      AND (item, site, captured_desc, epoch, seq, capture) IN ({{template "newest_whole" .}})
{{- template "filters" .}}
{{- else if .NewestRow}}
      AND (item, site, captured_desc, epoch, seq, capture, offer) IN (
    SELECT item, site, captured_desc, epoch, seq, capture, offer
    FROM ({{template "newest_row" .}})
)
{{- else}}
{{- template "filters" .}}
{{- end}}
{{- template "after" .}}
{{- if not .Unsorted}}
ORDER BY {{if .Current}}{{template "newer" .}} DESC, {{end}}{{template "order" .}}
{{- end}}
{{- template "limit" .}}
{{- end -}}
