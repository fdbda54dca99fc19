-- Archived files of an order, newest first. Tables file_archives, key (mandate,
-- direction, order_id, archive), and file_jobs, key (mandate, direction,
-- order_id, file_job).
SELECT archive, place, archived_at, file.name, file.filename, file.size_bytes, file.sha256, job_name
FROM (
    SELECT archive, file_job, archived_at, file, place
    FROM file_archives FINAL
    ARRAY JOIN files AS file, arrayEnumerate(files) AS place
    WHERE {{template "files_of" .}}
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
    SELECT file_job, name AS job_name
    FROM file_jobs FINAL
    WHERE {{template "files_of" .}}
) AS jobs USING (file_job)
{{- if .ExportName}}
WHERE job_name = {export_name:String}
{{- end}}
ORDER BY archived_at DESC, archive, place
LIMIT {limit:UInt64}
