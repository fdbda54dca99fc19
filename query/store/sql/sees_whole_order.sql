-- Whether each item of an order, and each of its sites, is in a visible pair of
-- one of its items. Tables orders, key (mandate, order_id), and scope_pairs,
-- key (mandate, version, item, site).
WITH
    held AS (
        SELECT arrayDistinct(items) AS held_items, arrayDistinct(sites) AS held_sites
        FROM orders FINAL
        WHERE mandate = {mandate:UInt64}
{{- template "order_filter" . }}
          AND order_id = {held:UInt64}
    ),
    seen AS (
        SELECT uniqExact(item) AS seen_items, uniqExactIf(site, site IN (SELECT arrayJoin(held_sites) FROM held)) AS seen_sites
        FROM ({{template "pairs" .}}
          AND item IN (SELECT arrayJoin(held_items) FROM held))
    )
SELECT toBool(count() = 1 AND sum(length(held_items) = seen_items AND length(held_sites) = seen_sites) = 1)
FROM held
CROSS JOIN seen
