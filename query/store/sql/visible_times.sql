-- When each partition was complete up to some places of the stream, and whether
-- that is kept since before them. Table checkpoint_times by its key: the last row
-- before a place, and the first at or behind it; and checkpoints, for what came
-- since the last row.
{{- range $n, $place := .Positions}}{{range $.Partitions}}
{{if or $n .}}UNION ALL
{{end}}SELECT toUInt16({{$n}}) AS place, toUInt16({{.}}) AS of, false AS reached, written_at
FROM (
    SELECT written_at
    FROM {{$.Shards.All "checkpoint_times"}}
    WHERE partition = {{.}} AND epoch <= {epoch{{$n}}:UInt32} AND (epoch < {epoch{{$n}}:UInt32} OR seq < {seq{{$n}}:UInt64})
    ORDER BY epoch DESC, seq DESC
    LIMIT 1
)
UNION ALL
SELECT toUInt16({{$n}}) AS place, toUInt16({{.}}) AS of, true AS reached, written_at
FROM (
    SELECT written_at
    FROM {{$.Shards.All "checkpoint_times"}}
    WHERE partition = {{.}} AND epoch >= {epoch{{$n}}:UInt32} AND (epoch > {epoch{{$n}}:UInt32} OR seq >= {seq{{$n}}:UInt64})
    ORDER BY epoch, seq
    LIMIT 1
)
UNION ALL
SELECT toUInt16({{$n}}) AS place, toUInt16({{.}}) AS of, true AS reached, written_at
FROM {{$.Shards.All "checkpoints"}}
WHERE stream = 'OBSERVATIONS' AND partition = {{.}} AND epoch >= {epoch{{$n}}:UInt32} AND (epoch > {epoch{{$n}}:UInt32} OR seq >= {seq{{$n}}:UInt64})
{{- end}}{{end}}
