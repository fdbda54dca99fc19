-- What observations add up to, by a group and a part of the window, in one
-- pass: the rows of each product as a sorted array, in which neighbours tell
-- which offer stands for its capture (decision 025), or which one of each
-- merchant, what changed, and how long each held; then sums. Tables as of
-- results.sql: observations_by_mandate by its key, or observations by pair. The
-- row without a group is the whole, or with Rest, of the products from one on.
-- Each array has a level of its own: names of
-- expressions within expressions take longer to analyze than the rows to read.
WITH
    {edges:Array(Int64)} AS edges,
    {begin_ms:Int64} AS begin_ms,
    {end_ms:Int64} AS end_ms,
    {hold_ms:Int64} AS hold_ms{{if .Trend}},
    {trend_edges:Array(Int64)} AS trend_edges{{end}}
SELECT
    toUInt8(grouping(g_item)) AS is_whole, g_item, g_text, bucket,
    if(is_whole, sum(n_pairs_of_all), sum(n_pairs)) AS pairs,
    sum(n_priced), sum(n_unavailable), sum(n_not_found), sum(n_unknown), sum(n_changes),
    sum(ms_in), sum(ms_out), sum(ms_unknown), sum(ms_restricted),
    sumMap(winners.1, winners.2) AS wins,
    if(is_whole, [], arraySort(groupArrayIf((currency, n_priced, lowest, quantiles, highest, first_price, last_price, toString(weighted), ms_in{{if .Trend}}, trend{{end}}), currency != ''))) AS prices
FROM (
    SELECT
        g_item, g_text, bucket, held_currency AS currency,
        countIf(bucket > first_bucket OR group_held_to <= edges[bucket]) AS n_pairs,
        countIf(bucket = first_bucket AND pair_held_to <= begin_ms) AS n_pairs_of_all,
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
        argMinIf(price, place, observed) AS first_price,
        argMaxIf(price, place, observed) AS last_price,
        {{if .Trend}}quantileExactLowMapIf(0.5)(map(part, price), observed) AS trend,
        {{end -}}
        sum(toInt128(greatest(price, 0)) * held) AS weighted
    FROM (
        SELECT
            {{template "group_of" .}}, place, merchant, wins, price, state, held_currency, changed, first_bucket, group_held_to, pair_held_to,
            arrayJoin(range(toUInt32(first_bucket), toUInt32(last_bucket + 1))) AS bucket,
            ms >= begin_ms AND bucket = first_bucket AS observed,
            {{if .Trend}}{{template "bucket_of"}}(ms, trend_edges), trend_edges, arrayEnumerate(trend_edges), 0) AS part,
            {{end -}}
            greatest(0, least(until, edges[bucket + 1]) - greatest(ms, edges[bucket])) AS held
        FROM (
            SELECT
                *,
                {{template "bucket_of"}}(greatest(ms, begin_ms), edges), edges, arrayEnumerate(edges), 0) AS first_bucket,
                {{template "bucket_of"}}(greatest(ms, begin_ms, until - 1), edges), edges, arrayEnumerate(edges), 0) AS last_bucket
            FROM (
                SELECT
                    item{{if .BySite}}, o.1 AS site{{else if .ByBrand}}, brand{{end}}, o.2 AS ms, o.9 AS merchant,
                    NOT o.7.1 AS wins, o.7.6 AS price, o.8 AS state, if(state = 1, o.7.4, '') AS held_currency,
                    changed, group_held_to, pair_held_to, least(next, ms + hold_ms, end_ms) AS until,
                    bitShiftLeft(toUInt256(ms), 128) + bitShiftLeft(toUInt256(item), 64) + number AS place
                FROM (
                    {{- if .ByMerchant}}{{template "offers_of_merchants" .}}{{else}}{{template "offers_of_captures" .}}{{end}}
                ){{if .ByBrand}} AS products
                LEFT JOIN (
                    SELECT item, toString(brand) AS brand
                    FROM items FINAL
                    WHERE item IN (SELECT item FROM ({{template "pairs" .}}))
                ) AS branded USING (item){{end}}
                ARRAY JOIN offers AS o, nexts AS next, changes AS changed, group_held_tos AS group_held_to, pair_held_tos AS pair_held_to, arrayEnumerate(offers) AS number
                WHERE (ms >= begin_ms OR until > begin_ms) AND ms < end_ms
            )
        )
    )
    GROUP BY g_item, g_text, bucket, currency
)
GROUP BY GROUPING SETS ((g_item, g_text, bucket), ())
HAVING is_whole OR (g_item, g_text, bucket) > ({after_item:UInt64}, {after_text:String}, {after_bucket:UInt32})
ORDER BY is_whole DESC, g_item, g_text, bucket
LIMIT {limit:UInt64}

{{- define "bucket_of"}}transform(roundDown{{end}}

{{- define "group_of" -}}
{{if .ByItem}}item{{else}}toUInt64(0){{end}} AS g_item, {{if .BySite}}toString(site){{else if .ByMerchant}}toString(merchant){{else if .ByBrand}}brand{{else}}''{{end}} AS g_text
{{- end -}}

{{- /* Offers in the order of site and time; until when, at most, that before an offer held, of its pair, and of its pair and group: a pair counts where none held before. */ -}}
{{- define "offers_of_captures"}}
                    SELECT
                        item, offers,
                        arrayPushBack(arrayMap((o, n) -> if(o.1 = n.1, n.2, end_ms), arrayPopBack(offers), arrayPopFront(offers)), end_ms) AS nexts,
                        arrayMap((o, p) -> o.1 = p.1 AND ((o.8, o.7.6) != (p.8, p.7.6) OR o.8 = 1 AND o.7.4 != p.7.4), offers, before) AS changes,
                        arrayMap((o, p, i) -> if(i = 1 OR o.1 != p.1, 0, greatest(p.2 + 1, least(o.2, p.2 + hold_ms))), offers, before, arrayEnumerate(offers)) AS group_held_tos,
                        group_held_tos AS pair_held_tos
                    FROM ({{template "standing_offers" .}}
                    )
{{- end -}}

{{- /* The same in the order of site, merchant and time. Offers of one capture have the same next one. */ -}}
{{- define "offers_of_merchants"}}
                    SELECT
                        item, found.1 AS offers, found.2 AS nexts, found.4 AS pair_held_tos,
                        arrayMap((f, p) -> (f.1.1, f.1.6, f.3) = (p.1.1, p.1.6, p.3 + 1) AND ((f.1.8, f.1.7.6) != (p.1.8, p.1.7.6) OR f.1.8 = 1 AND f.1.7.4 != p.1.7.4), found, before) AS changes,
                        arrayMap((f, p, i) -> if(i = 1 OR (f.1.1, f.1.6) != (p.1.1, p.1.6), 0, greatest(p.1.2 + 1, least(p.2, p.1.2 + hold_ms))), found, before, arrayEnumerate(found)) AS group_held_tos
                    FROM (
                        SELECT item, found, arrayPushFront(arrayPopBack(found), found[1]) AS before
                        FROM (
                            SELECT item, arraySort(f -> (f.1.1, f.1.6, f.3), arrayZip(offers, arrayReverseFill((_, last) -> last, nexts, lasts), captures, pair_held_tos)) AS found
                            FROM (
                                SELECT
                                    item, offers,
                                    arrayPushBack(arrayMap((o, n) -> if(o.1 = n.1, n.2, end_ms), arrayPopBack(offers), arrayPopFront(offers)), end_ms) AS nexts,
                                    arrayPushBack(arrayMap((o, n) -> {{template "capture_of" "o"}} != {{template "capture_of" "n"}}, arrayPopBack(offers), arrayPopFront(offers)), 1) AS lasts,
                                    arrayCumSum((o, p) -> {{template "capture_of" "o"}} != {{template "capture_of" "p"}}, offers, before) AS captures,
                                    arrayMap((o, p, i) -> multiIf(i = 1 OR o.1 != p.1, 0, {{template "capture_of" "o"}} = {{template "capture_of" "p"}}, end_ms, greatest(p.2 + 1, least(o.2, p.2 + hold_ms))), offers, before, arrayEnumerate(offers)) AS pair_held_tos
                                FROM ({{template "standing_offers" .}}
                                )
                            )
                        )
                    )
{{- end -}}

{{- define "capture_of"}}({{.}}.1, {{.}}.2, {{.}}.3, {{.}}.4, {{.}}.5){{end -}}

{{- /* The first row of each capture, or of each merchant in it, with the one before it. */ -}}
{{- define "standing_offers"}}
                        SELECT item, offers, arrayPushFront(arrayPopBack(offers), offers[1]) AS before
                        FROM (
                            SELECT item, arrayFilter((r, p, i) -> i = 1 OR {{template "capture_of" "r"}} != {{template "capture_of" "p"}}{{if .ByMerchant}} OR r.6 != p.6{{end}}, sorted, before, arrayEnumerate(sorted)) AS offers
                            FROM (
                                SELECT item, sorted, arrayPushFront(arrayPopBack(sorted), sorted[1]) AS before
                                FROM (
                                    SELECT item, arraySort(groupArray(row)) AS sorted
                                    FROM (
                                        SELECT
                                            item,
                                            (
                                                site, -captured_desc, epoch, seq, capture, {{if .ByMerchant}}toString(merchant){{else}}0{{end}}, {{template "standing"}},
                                                if(outcome = 'priceObserved' AND price_minor < 0, 0, toUInt8(outcome)), merchant
                                            ) AS row
                                        FROM ({{template "rows" .}})
                                    )
                                    GROUP BY item
                                )
                            )
                        )
{{- end -}}

{{- /* Rows of the window and of the time before it from which a state may hold. */ -}}
{{- define "rows" -}}
SELECT item, site, {{if .ByPair}}-toUnixTimestamp64Milli(captured_at) AS {{end}}captured_desc, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_buy_box
                        FROM {{if .ByPair}}{{.Shards.All "observations"}}{{else}}{{.Shards.All "observations_by_mandate"}}{{end}}
                        WHERE {{template "history_where" .}}{{if .Rest}} AND item >= {after_item:UInt64}{{end}}
{{- template "filters" .}}
{{- end -}}
