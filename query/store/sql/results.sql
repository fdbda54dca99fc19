-- Rows of observations in the order of results: newest first by the negated
-- time, then item, site and place in the stream; ascending is the exact
-- reverse. Windows of a mandate read observations_by_mandate along its key
-- (mandate, captured_desc, item, site); products, and few pairs of a large
-- mandate, read observations by its key (item, site, captured_at); the newest
-- capture of each pair is a row of latest_observations, key (item, site).
{{if .Shards.Several}}
{{- template "results_of_shards" .}}
{{- else -}}
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    {{template "offered" .}}
FROM ({{template "source" .}})
WHERE {{if .Current}}{{template "newer" .}} OR {{end}}1
{{- if .Newest}}
{{- template "filters" .}}
{{- end}}
{{- template "after" .}}
{{- if not .Unsorted}}
ORDER BY {{if .Current}}{{template "newer" .}} DESC, {{end}}{{template "order" .}}
{{- end}}
{{- template "limit" .}}
{{- end}}

{{- define "offered" -}}
currency, price_minor, merchant
{{- if .Export }},
    shipping_minor, is_prime, is_buy_box, rating_tenths, manufacturer, delivery_text, title, url
{{- else if .Standing }},
    shipping_minor, is_buy_box
{{- end }}
{{- end}}

{{- define "order" -}}
{{if .Ascending}}captured_desc DESC{{else}}captured_desc{{end}}, {{template "order_of_equals" .}}
{{- end}}

{{- define "order_of_equals" -}}
{{- if .Ascending -}}
item DESC, site DESC, epoch DESC, seq DESC, capture DESC, offer DESC
{{- else -}}
item, site, epoch, seq, capture, offer
{{- end -}}
{{- end}}

{{- define "limit"}}
{{- if .Limit}}
LIMIT {limit:UInt64}
{{- end}}
{{- end}}

{{- /* The place where a walk goes on. The bound on captured_desc alone lets the key be used. */ -}}
{{- define "after"}}
{{- if .After}}
  {{- if .Ascending}}
  AND captured_desc <= {after_desc:Int64}
  AND (captured_desc, item, site, epoch, seq, capture, offer) < ({after_desc:Int64}, {after_item:UInt64}, {after_site:String}, {after_epoch:UInt32}, {after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16})
  {{- else}}
  AND captured_desc >= {after_desc:Int64}
  AND (captured_desc, item, site, epoch, seq, capture, offer) > ({after_desc:Int64}, {after_item:UInt64}, {after_site:String}, {after_epoch:UInt32}, {after_seq:UInt64}, {after_capture:UInt16}, {after_offer:UInt16})
  {{- end}}
{{- end}}
{{- end}}

{{- /* Which rows the read is about, before order and place. */ -}}
{{- define "source" -}}
{{- if .FromLatest -}}
{{template "latest" .}}
{{- else if .NewestWhole -}}
SELECT * FROM ({{template "history" .}})
WHERE (item, site, captured_desc, epoch, seq, capture) IN ({{template "newest_whole" .}})
{{- else if .NewestRow -}}
{{template "newest_row" .}}
{{- else -}}
{{template "history" .}}{{template "filters" .}}
{{- end -}}
{{- end -}}

{{- define "newest_whole"}}
    SELECT item, site, -tupleElement(newest, 1), tupleElement(newest, 2), tupleElement(newest, 3), tupleElement(newest, 4)
    FROM (
        SELECT item, site, max((-captured_desc, epoch, seq, capture)) AS newest
        FROM ({{template "history" .}})
        GROUP BY item, site
    )
{{end}}

{{- define "newest_row" -}}
SELECT * FROM ({{template "history" .}}{{template "filters" .}})
ORDER BY item, site, captured_desc, epoch DESC, seq DESC, capture DESC, {{template "standing"}}
LIMIT 1 BY item, site
{{- end -}}

{{- /* The offer that stands for its capture is the least by this (decision 025). Its last part is the offer. */ -}}
{{- define "standing" -}}
(
    NOT (is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)),
    price_minor < 0, price_minor >= 0 AND shipping_minor < 0, if(price_minor < 0, '', toString(currency)),
    if(price_minor < 0 OR shipping_minor < 0, 0, price_minor + shipping_minor), price_minor, offer
)
{{- end -}}

{{- /* The same of a capture whose offers are arrays. */ -}}
{{- define "standing_of_arrays" -}}
arrayWithConstant(length(offer), tupleElement(arrayMin(arrayMap((is_buy_box, price_minor, shipping_minor, currency, offer) -> {{template "standing"}}, is_buy_box, price_minor, shipping_minor, currency, offer)), 7))
{{- end -}}

{{- define "columns" -}}
epoch, seq, capture, outcome, {{template "offers" .}}
{{- end -}}

{{- /* All visible rows of the window up to the watermark. */ -}}
{{- define "history" -}}
{{- if .ByPair -}}
SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
           {{template "columns" .}}
    FROM observations
    WHERE {{template "history_where" .}}
{{- else -}}
SELECT item, site, captured_desc,
           {{template "columns" .}}
    FROM observations_by_mandate
    WHERE {{template "history_where" .}}
{{- end -}}
{{- end -}}

{{- define "history_where" -}}
{{template "history_of" .}}
      AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
{{- end -}}

{{- /* The same without the watermark. */ -}}
{{- define "history_of" -}}
{{- if .ByPair -}}
{{- if .Products -}}
{{template "products" .}}
{{- else -}}
(item, site) IN ({{template "pairs" .}})
{{- end}}
{{- if .From}}
      AND captured_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
{{- end}}
{{- if .To}}
      AND captured_at <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
{{- end}}
{{- else -}}
{{if .Mandates}}mandate IN {mandates:Array(UInt64)}{{else}}mandate = {mandate:UInt64}{{end}}
{{- if .From}}
      AND captured_desc <= -{from_ms:Int64}
{{- end}}
{{- if .To}}
      AND captured_desc >= -{to_ms:Int64}
{{- end}}
{{- end}}
{{- if .Site}}
      AND site = {site:String}
{{- end}}
{{- if and .Pairs (or .Products (not .ByPair))}}
      AND (item, site) IN ({{template "pairs" .}})
{{- end}}
{{- end -}}

{{- /* Exact filters: those that compare an observed value (Column of query.ResultsParameters), then the others. A row without a price says nothing of one (choices 62); an unknown flag matches neither value, and only canonical country markets have flags (RES-P06b). */ -}}
{{- define "filters"}}
{{- if .Filter.brand}}
      AND item IN (SELECT item FROM items FINAL WHERE brand = {brand:String})
{{- end}}
{{- range .Equal}}
      AND {{.Column}} = {{.Value}}
{{- end}}
{{- if or (ne .Filter.isPrime nil) (ne .Filter.isBuyBox nil)}}
      AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market)
{{- end}}
{{- if .Outcomes}}
      AND if(outcome = 'priceObserved' AND price_minor < 0, 0, toUInt8(outcome)) IN {outcomes:Array(UInt8)}
{{- end}}
{{- end}}

{{- /* The newest capture of each pair in the window, up to the watermark: from latest_observations, and from the history of those pairs whose newest capture came later. A current read leaves these out, and returns what came later before all others: then it was not complete. */ -}}
{{- define "latest" -}}
SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
       {{template "columns" .}}
FROM (
    SELECT *
    FROM latest_observations FINAL
    WHERE (item, site) IN ({{template "pairs" .}})
{{- if not .Current}}
      AND NOT {{template "newer_capture" .}}
{{- end}}
{{- template "since" .}}
)
ARRAY JOIN {{template "offers" .}}
{{- if .NewestRow}}, {{template "standing_of_arrays"}} AS standing
WHERE offer = standing
{{- end}}
{{- if not .Current}}
UNION ALL
SELECT item, site, -toUnixTimestamp64Milli(captured_at) AS captured_desc,
       {{template "columns" .}}
FROM observations
WHERE {{template "behind" .}}
{{- end}}
{{- end -}}

{{- /* A capture that came after the watermark, or that was made after the window. */ -}}
{{- define "newer" -}}
((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}){{if .To}} OR captured_ms > {to_ms:Int64}{{end}})
{{- end -}}

{{- define "newer_capture" -}}
((epoch, seq) > ({mark_epoch:UInt32}, {mark_seq:UInt64}){{if .To}} OR captured_at > fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC'){{end}})
{{- end -}}

{{- /* From where the window begins; what retention has removed, or will, is before it. */ -}}
{{- define "since"}}
{{- if .From}}
      AND captured_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
{{- end}}
{{- end -}}

{{- /* What retention has left, whether the rest was removed yet or not. */ -}}
{{- define "kept"}}
{{- if .Floor}}
      AND captured_at >= fromUnixTimestamp64Milli({floor_ms:Int64}, 'UTC')
{{- end}}
{{- end -}}

{{- /* The rows of those captures, or the one of each that stands for it. */ -}}
{{- define "behind" -}}
(item, site, captured_at, epoch, seq, capture
{{- if .NewestRow}}, offer) IN (
    SELECT item, site, captured_at, epoch, seq, capture, offer
    FROM observations
    WHERE (item, site, captured_at, epoch, seq, capture
{{- end}}) IN ({{template "newest_behind" .}})
{{- if .NewestRow}}
    ORDER BY item, site, {{template "standing"}}
    LIMIT 1 BY item, site
)
{{- end}}
{{- end -}}

{{- define "offers" -}}
offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box
{{- if .Export}}, rating_tenths, manufacturer, title, url, delivery_text{{else if .Filter.manufacturer}}, manufacturer{{end}}
{{- end -}}

{{- /* The newest captures up to the watermark of those pairs whose newest capture came later. */ -}}
{{- define "newest_behind"}}
    SELECT item, site, tupleElement(newest, 1), tupleElement(newest, 2), tupleElement(newest, 3), tupleElement(newest, 4)
    FROM (
        SELECT item, site, max((captured_at, epoch, seq, capture)) AS newest
        FROM observations
        WHERE (item, site) IN (
            SELECT item, site
            FROM latest_observations FINAL
            WHERE (item, site) IN ({{template "pairs" .}})
              AND {{template "newer_capture" .}}
        )
          AND NOT {{template "newer_capture" .}}
{{- template "since" .}}
        GROUP BY item, site
    )
{{end -}}
