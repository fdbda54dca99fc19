-- Archived files of an order, newest first; of several orders by id, of each so
-- many of either direction. Tables file_archives, key (mandate, direction,
-- order_id, archive), and file_jobs, key (mandate, direction, order_id,
-- file_job).
SELECT {{if .Orders}}direction, order_id, {{end}}archive, place, archived_at, file.name, file.filename, file.size_bytes, file.sha256, job_name
FROM (
    SELECT {{if .Orders}}direction, order_id, {{end}}archive, file_job, archived_at, file, place
    FROM file_archives FINAL
    ARRAY JOIN files AS file, arrayEnumerate(files) AS place
    WHERE {{template "files_of" .}}
{{- if .Orders}}
      AND (direction, order_id, archive) IN (
        SELECT direction, order_id, archive -- each has a file or more
        FROM file_archives FINAL
        WHERE {{template "files_of" .}} AND notEmpty(files)
        ORDER BY archived_at DESC, archive
        LIMIT {each:UInt64} BY direction, order_id
      )
{{- end}}
{{- if .From}}
      AND archived_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
{{- end}}
{{- if .To}}
      AND archived_at <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
{{- end}}
{{- if .Name}}
      AND file.name = {name:String}
{{- end}}
{{- if .After}}
      AND (-toUnixTimestamp64Milli(archived_at), archive, place) > (-{after_ms:Int64}, {after_archive:UInt64}, {after_place:UInt32})
{{- end}}
) AS entries
LEFT JOIN (
    SELECT {{if .Orders}}direction, order_id, {{end}}file_job, name AS job_name
    FROM file_jobs FINAL
    WHERE {{template "files_of" .}}
) AS jobs USING ({{if .Orders}}direction, order_id, {{end}}file_job)
{{- if .ExportName}}
WHERE job_name = {export_name:String}
{{- end}}
ORDER BY {{if .Orders}}order_id, archived_at DESC, direction{{else}}archived_at DESC{{end}}, archive, place
{{- if .Orders}}
LIMIT {each:UInt64} BY order_id, direction
{{- end}}
LIMIT {limit:UInt64}
