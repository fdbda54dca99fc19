-- The visible pairs of some orders after a pair, each with its newest capture.
-- Tables scope_pairs, key (mandate, version, item, site), and
-- latest_observations, key (item, site), where a pair's newest capture is one
-- row: it is whole also when it lies beyond the watermark.
WITH page AS (
    SELECT item, site, arraySort({{template "wanted_orders" .}}) AS of_orders
    FROM ({{template "order_pairs" .}}
          AND item >= {after_item:UInt64} AND (item, site) > ({after_item:UInt64}, {after_site:String}))
    ORDER BY item, site
    LIMIT {limit:UInt64}
)
SELECT page.item, page.site, page.of_orders, newest.captured_at, newest.outcome_code
FROM page
LEFT JOIN (
    SELECT item, site, captured_at, toUInt8(outcome) AS outcome_code
    FROM {{.Shards.All "latest_observations"}} FINAL
    WHERE (item, site) {{if .Shards.Several}}GLOBAL {{end}}IN (SELECT item, site FROM page)
{{- template "kept" .}}
) AS newest ON newest.item = page.item AND newest.site = page.site
ORDER BY page.item, page.site
