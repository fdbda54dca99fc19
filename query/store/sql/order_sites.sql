-- The visible sites of some orders. Table scope_pairs, key (mandate, version, item, site).
SELECT arrayJoin({{template "wanted_orders" .}}) AS order_id, arraySort(groupUniqArray(toString(site))) AS sites
FROM ({{template "order_pairs" .}})
GROUP BY order_id
ORDER BY order_id
