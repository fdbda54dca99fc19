{{- /* The pairs that the caller sees, narrowed by selectors. Table scope_pairs, key (mandate, version, item, site). */ -}}
{{- define "pairs" -}}
SELECT item, site
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND {{template "version" .}}
{{- template "pair_filters" . }}
{{- end -}}
{{- /* The version in force; over several shards, that of the one which is asked. */ -}}
{{- define "version" -}}
{{if .Versions}}version IN {versions:Array(UInt64)}{{else}}version = {version:UInt64}{{end}}
{{- end -}}
{{- define "pair_filters" -}}
{{- if not .AllOrders }}
          AND hasAny(orders, {orders:Array(UInt64)})
{{- end }}
{{- if not .AllSites }}
          AND site IN {sites:Array(String)}
{{- end }}
{{- if .Order }}
          AND has({{template "pair_orders" .}}, {order:UInt64})
{{- end }}
{{- if .Orders }}
          AND hasAny({{template "pair_orders" .}}, {wanted:Array(UInt64)})
{{- end }}
{{- if .Site }}
          AND site = {site:String}
{{- end }}
{{- if .Products }}
          AND {{template "products" .}}
{{- end }}
{{- if .Items }}
          AND item IN {any_items:Array(UInt64)}
{{- end }}
{{- end -}}
{{- /* Those orders of a pair that the caller sees. */ -}}
{{- define "pair_orders" -}}
{{if .AllOrders}}orders{{else}}arrayIntersect(orders, {orders:Array(UInt64)}){{end}}
{{- end -}}
{{- /* The orders that the account is narrowed to, active or not. */ -}}
{{- define "order_filter" -}}
{{- if not .AllOrders }}
  AND order_id IN {orders:Array(UInt64)}
{{- end }}
{{- end -}}
{{- /* Only the items of the product selectors, which combine as an intersection. Named: not by id alone; table items, by skip indexes. */ -}}
{{- define "products" -}}
{{if .Named}}item IN (
            SELECT item
            FROM items FINAL
            WHERE ({item:UInt64} = 0 OR item = {item:UInt64})
              AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
              AND ({pzn:String} = '' OR pzn = {pzn:String})
              AND ({asin:String} = '' OR (asin = {asin:String} AND asin_locale = {asin_locale:String}))
        ){{else}}item = {item:UInt64}{{end}}
{{- end -}}
