-- Captures that no other one of their pair followed for some time, by time,
-- item and site, each as its standing offer. Table observations_by_mandate: the
-- range of the mandate in its key, a few seconds wide where a feed is followed.
-- What followed is read from observations, key (item, site, captured_at), only
-- for pairs of which latest_observations, key (item, site), does not show it.
SELECT
    item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code,
    {{template "offered" .}}
FROM {{.Shards.All "observations_by_mandate"}}
WHERE {{template "history_where" .}}
      AND (-captured_desc, item, site) > (-{after_desc:Int64}, {after_item:UInt64}, {after_site:String})
      AND (item, site, captured_desc) IN (
    SELECT item, site, -last
    FROM (
        SELECT item, site, arraySort(groupUniqArray(toUnixTimestamp64Milli(captured_at))) AS times
        FROM observations
        WHERE (item, site) IN ({{template "silent_candidates" .}})
          AND (item, site) NOT IN (
            SELECT item, site
            FROM latest_observations
            WHERE (item, site) IN ({{template "silent_candidates" .}})
              AND captured_at > fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
              AND captured_at <= fromUnixTimestamp64Milli({from_ms:Int64} + {silent_ms:Int64}, 'UTC')
              AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
        )
          AND captured_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
          AND captured_at <= fromUnixTimestamp64Milli({to_ms:Int64} + {silent_ms:Int64}, 'UTC')
          AND (epoch, seq) <= ({mark_epoch:UInt32}, {mark_seq:UInt64})
        GROUP BY item, site
    )
    ARRAY JOIN times AS last, arrayPushBack(arrayPopFront(times), 9223372036854775807) AS next
    WHERE next - last > {silent_ms:Int64}
)
ORDER BY captured_ms, item, site, epoch DESC, seq DESC, capture DESC, {{template "standing"}}
LIMIT 1 BY captured_ms, item, site
LIMIT {limit:UInt64}

{{- /* The pairs with a capture in the time. */ -}}
{{- define "silent_candidates"}}
            SELECT item, site
            FROM observations_by_mandate
            WHERE {{template "history_where" .}}
{{end -}}
