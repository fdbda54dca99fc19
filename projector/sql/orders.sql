-- What scopes are made of, by key.
SELECT mandate, order_id, active, toUnixTimestamp64Milli(created_at) AS created_ms, items, sites
FROM orders FINAL
ORDER BY mandate, order_id
