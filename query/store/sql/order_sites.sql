-- The sites of the visible pairs of some orders. Table scope_pairs, key
-- (mandate, version, item, site). Without an order: more than the limit is
-- refused, and then the reading ends there.
SELECT DISTINCT arrayJoin({{template "wanted_orders" .}}) AS order_id, site
FROM ({{template "order_pairs" .}})
LIMIT {limit:UInt64}
