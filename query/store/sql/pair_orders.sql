-- The visible orders of each visible pair of some items. Table scope_pairs,
-- key (mandate, version, item, site).
SELECT item, site, {{template "pair_orders" .}} AS visible_orders
FROM scope_pairs
WHERE mandate = {mandate:UInt64} AND {{template "version" .}} AND item IN {items:Array(UInt64)}
{{- template "pair_filters" . }}
ORDER BY item, site
