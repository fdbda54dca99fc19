-- What observations add up to, by a group and a part of the window, in one
-- pass: captures with the offer that stands for each (decision 025), or with one
-- of each merchant; how long each held; then sums. Tables as of results.sql:
-- observations_by_mandate by its key, or observations by pair. The row without
-- a group is the whole.
WITH
    {edges:Array(Int64)} AS edges,
    {begin_ms:Int64} AS begin_ms,
    {end_ms:Int64} AS end_ms
SELECT
    toUInt8(grouping(g_item)) AS is_whole, g_item, g_text, bucket,
    uniqExactMerge(pair_states) AS pairs,
    sum(n_priced), sum(n_unavailable), sum(n_not_found), sum(n_unknown), sum(n_changes),
    sum(ms_in), sum(ms_out), sum(ms_unknown), sum(ms_restricted),
    sumMap(winners.1, winners.2) AS wins,
    if(is_whole, [], arraySort(groupArrayIf((currency, n_priced, lowest, quantiles, highest, first_price, last_price, toString(weighted), ms_in), currency != ''))) AS prices
FROM (
    SELECT
        g_item, g_text, bucket, held_currency AS currency,
        uniqExactState(item, site) AS pair_states,
        countIf(observed AND state = 1) AS n_priced,
        countIf(observed AND state = 2) AS n_unavailable,
        countIf(observed AND state = 3) AS n_not_found,
        countIf(observed AND state NOT IN (1, 2, 3)) AS n_unknown,
        countIf(observed AND changed) AS n_changes,
        sumIf(held, state = 1) AS ms_in,
        sumIf(held, state IN (2, 3)) AS ms_out,
        sumIf(held, state NOT IN (1, 2, 3)) AS ms_unknown,
        sumIf(held, state = 4) AS ms_restricted,
        sumMapIf([toString(merchant)], [toUInt64(1)], observed AND wins) AS winners,
        minIf(price, observed) AS lowest,
        quantilesExactLowIf(0.25, 0.5, 0.75)(price, observed) AS quantiles,
        maxIf(price, observed) AS highest,
        argMinIf(price, (ms, item, site, epoch, seq, capture), observed) AS first_price,
        argMaxIf(price, (ms, item, site, epoch, seq, capture), observed) AS last_price,
        sum(toInt128(greatest(price, 0)) * held) AS weighted
    FROM (
        SELECT
            {{template "group_of" .}}, item, site, ms, epoch, seq, capture,
            arrayJoin(range(toUInt32(first_bucket), toUInt32(last_bucket + 1))) AS bucket,
            offer.2 AS state, offer.3 AS held_currency, offer.4 AS price, offer.1 AS merchant, offer.5 AS wins,
            ms >= begin_ms AND bucket = first_bucket AS observed,
            arrayExists(p -> {{if .ByMerchant}}p.1 = merchant AND {{end}}(p.2, p.3, p.4) != (state, held_currency, price), before) AS changed,
            greatest(0, least(until, edges[bucket + 1]) - greatest(ms, edges[bucket])) AS held
        FROM (
            SELECT
                item, site{{if .ByBrand}}, brand{{end}}, c.1 AS ms, c.2 AS epoch, c.3 AS seq, c.4 AS capture, c.5 AS offers, before,
                least(next, ms + {hold_ms:Int64}, end_ms) AS until,
                {{template "bucket_of"}}(greatest(ms, begin_ms), edges), edges, arrayEnumerate(edges), 0) AS first_bucket,
                {{template "bucket_of"}}(greatest(ms, begin_ms, until - 1), edges), edges, arrayEnumerate(edges), 0) AS last_bucket
            FROM (
                SELECT
                    item, site, arraySort(c -> (c.1, c.2, c.3, c.4), groupArray((ms, epoch, seq, capture, offers))) AS captures,
                    arrayPushBack(arrayMap(c -> c.1, arrayPopFront(captures)), end_ms) AS nexts,
                    arrayPushFront(arrayMap(c -> c.5, arrayPopBack(captures)), []) AS befores
                FROM (
                    SELECT
                        item, site, -captured_desc AS ms, epoch, seq, capture,
                        {{template "offers_of" .}} AS offers
                    FROM (
                        SELECT
                            item, site, captured_desc, epoch, seq, capture, {{template "standing"}} AS standing,
                            if(outcome = 'priceObserved' AND price_minor < 0, 0, toUInt8(outcome)) AS state, if(outcome = 'priceObserved' AND price_minor >= 0, currency, '') AS held_currency,
                            price_minor, merchant, is_buy_box = 2 AND site IN (SELECT site FROM sites FINAL WHERE canonical_country_market) AS wins
                        FROM ({{template "rows" .}})
                    )
                    GROUP BY item, site, captured_desc, epoch, seq, capture
                )
                GROUP BY item, site
            ){{if .ByBrand}} AS pairs
            LEFT JOIN (
                SELECT item, toString(brand) AS brand
                FROM items FINAL
                WHERE item IN (SELECT item FROM ({{template "pairs" .}}))
            ) AS branded USING (item){{end}}
            ARRAY JOIN captures AS c, nexts AS next, befores AS before
        )
        ARRAY JOIN offers AS offer
        WHERE (ms >= begin_ms OR until > begin_ms) AND ms < end_ms
    )
    WHERE observed OR held > 0
    GROUP BY g_item, g_text, bucket, currency
)
GROUP BY GROUPING SETS ((g_item, g_text, bucket), ())
HAVING is_whole OR (g_item, g_text, bucket) > ({after_item:UInt64}, {after_text:String}, {after_bucket:UInt32})
ORDER BY is_whole DESC, g_item, g_text, bucket
LIMIT {limit:UInt64}

{{- define "bucket_of"}}transform(roundDown{{end}}

{{- define "group_of" -}}
{{if .ByItem}}item{{else}}toUInt64(0){{end}} AS g_item, {{if .BySite}}toString(site){{else if .ByMerchant}}toString(offer.1){{else if .ByBrand}}brand{{else}}''{{end}} AS g_text
{{- end -}}

{{- /* The offer that stands for a capture, or the one of each merchant that would if it were alone. */ -}}
{{- define "offers_of" -}}
{{- if .ByMerchant -}}
arrayMap(o -> (o.1, o.3, o.4, o.5, o.6), arrayFilter((o, before) -> o.1 != before, arraySort(groupArray((toString(merchant), standing, state, toString(held_currency), price_minor, wins))) AS sorted, arrayPushFront(arrayMap(o -> o.1, arrayPopBack(sorted)), '\0')))
{{- else -}}
arrayMap(o -> (o.2, o.3, o.4, o.5, o.6), arraySlice(arraySort(groupArray((standing, toString(merchant), state, toString(held_currency), price_minor, wins))), 1, 1))
{{- end -}}
{{- end -}}

{{- /* Rows of the window and of the time before it from which a state may hold. */ -}}
{{- define "rows" -}}
SELECT item, site, {{if .ByPair}}-toUnixTimestamp64Milli(captured_at) AS {{end}}captured_desc, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_buy_box
                        FROM {{if .ByPair}}{{.Shards.All "observations"}}{{else}}{{.Shards.All "observations_by_mandate"}}{{end}}
                        WHERE {{template "history_where" .}}
{{- template "filters" .}}
{{- end -}}
