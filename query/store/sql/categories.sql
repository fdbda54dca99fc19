-- The categories of visible items, in order; all, or one of them. Table
-- customer_data, key (mandate, item), the caller's pairs.
SELECT DISTINCT category
FROM ({{template "categories" .}})
ORDER BY category
LIMIT {limit:UInt64}

{{- /* The visible items with a category, or with just this one. */ -}}
{{- define "categories" -}}
SELECT item, category
      FROM customer_data FINAL
      WHERE mandate = {mandate:UInt64} AND category != ''
        AND ({category:String} = '' OR category = {category:String})
        AND item IN (SELECT item FROM ({{template "pairs" .}}))
{{- end -}}
