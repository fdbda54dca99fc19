-- The newest versions of what rows show of the catalogue, beside the items: of
-- sites and of a mandate's own prices and data. Versions only grow, also where a
-- record is withdrawn. One by one, for a batch is not written to all tables at once.
SELECT [toUInt64(0)
{{- if .ExportFields}},
    assumeNotNull((SELECT max(version) FROM sites)),
    assumeNotNull((SELECT max(version) FROM reference_prices WHERE mandate = {mandate:UInt64}))
{{- end}}
{{- if .CustomerData}},
    assumeNotNull((SELECT max(version) FROM customer_data WHERE mandate = {mandate:UInt64}))
{{- end}}] AS versions
