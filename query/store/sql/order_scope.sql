-- What the visible pairs of some orders span, counted no further than to
-- at_most. Table scope_pairs, key (mandate, version, item, site).
SELECT
    (SELECT count() FROM (
        SELECT DISTINCT item, arrayJoin({{template "wanted_orders" .}}) AS order_id
        FROM ({{template "order_pairs" .}})
        LIMIT {at_most:UInt64}
    )) AS order_items,
    (SELECT count() FROM (
        {{template "pairs" .}}
        LIMIT {at_most:UInt64}
    )) AS candidates

{{- /* The visible pairs of the wanted orders, each with all of its orders. */ -}}
{{- define "order_pairs" -}}
SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND {{template "version" .}}
{{- template "pair_filters" . }}
{{- end -}}

{{- /* Those of the wanted orders that give a pair and that the caller sees. */ -}}
{{- define "wanted_orders" -}}
arrayIntersect({{template "pair_orders" .}}, {wanted:Array(UInt64)})
{{- end -}}
