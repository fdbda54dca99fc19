-- How many archive documents an order has, at most so many, and how many
-- files are in them; of several orders, of each and each direction. It reads
-- sizes, no file. Table file_archives, key (mandate, direction, order_id,
-- archive).
SELECT {{if .Orders}}direction, order_id, {{end}}count() AS documents, sum(files_in) AS nested
FROM (
    SELECT {{if .Orders}}direction, order_id, {{end}}length(files) AS files_in
    FROM file_archives FINAL
    WHERE {{template "files_of" .}}
    LIMIT {most:UInt64}{{if .Orders}} BY direction, order_id{{end}}
)
{{- if .Orders}}
GROUP BY direction, order_id
ORDER BY direction, order_id
{{- else}}
SETTINGS max_threads = 1, max_block_size = 8192 -- or more is read ahead than is looked at
{{- end}}
