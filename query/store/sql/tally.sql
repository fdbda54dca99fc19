-- What the rows of a read of results.sql come to, site by site, in one pass.
-- Tables and keys as there.
SELECT
    toString(site), uniqExactMerge(pair_items), sum(n_priced), sum(n_unavailable), sum(n_unknown), min(first_ms), max(last_ms),
    arraySort(groupArrayIf((currency, n_priced, lowest, middle, highest), n_priced > 0)) AS prices,
    sumMap(winners.1, winners.2) AS wins
FROM (
    SELECT
        site, if(priced, toString(currency), '') AS currency,
        uniqExactState(item) AS pair_items,
        countIf(priced) AS n_priced,
        countIf(unavailable) AS n_unavailable,
        countIf(NOT priced AND NOT unavailable) AS n_unknown,
        min(captured_ms) AS first_ms,
        max(captured_ms) AS last_ms,
        minIf(price_minor, priced) AS lowest,
        quantileExactLowIf(0.5)(price_minor, priced) AS middle,
        maxIf(price_minor, priced) AS highest,
        sumMapIf([toString(merchant)], [toUInt64(1)], {{if or .Export .Standing}}is_buy_box = 2{{else}}0{{end}}) AS winners
    FROM (
        SELECT *, outcome_code = 1 AND price_minor >= 0 AS priced, outcome_code IN (2, 3) AS unavailable
        FROM ({{template "results.sql" .}})
    )
    GROUP BY site, currency
)
GROUP BY site
ORDER BY site
