-- The visible pairs of some orders after a pair, each with its newest capture.
-- Tables scope_pairs, key (mandate, version, item, site), and
-- latest_observations, key (item, site), where a pair's newest capture is one
-- row: it is whole also when it lies beyond the watermark.
WITH page AS (
    SELECT item, site, arraySort(arrayIntersect(orders, {wanted:Array(UInt64)})) AS of_orders
    FROM (SELECT item, site, orders
        FROM scope_pairs
        WHERE mandate = {mandate:UInt64} AND version IN {versions:Array(UInt64)}
          AND hasAny(orders, {wanted:Array(UInt64)})
          AND item >= {after_item:UInt64} AND (item, site) > ({after_item:UInt64}, {after_site:String}))
    ORDER BY item, site
    LIMIT {limit:UInt64}
)
SELECT page.item, page.site, page.of_orders, newest.captured_at, newest.outcome_code
FROM page
LEFT JOIN (
    SELECT item, site, captured_at, toUInt8(outcome) AS outcome_code
    FROM latest_observations_all FINAL
    WHERE (item, site) GLOBAL IN (SELECT item, site FROM page)
) AS newest ON newest.item = page.item AND newest.site = page.site
ORDER BY page.item, page.site

-- values
-- after_item = 0
-- after_site = 
-- limit = 10000
-- mandate = 7
-- versions = [3,4,5]
-- wanted = [2,9]
