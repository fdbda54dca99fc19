-- What scopes are made of, by key. A row may have 400 kB, hence the small blocks.
SELECT mandate, order_id, active, toUnixTimestamp64Milli(created_at) AS created_ms, if(active, items, []) AS items, if(active, sites, []) AS sites, version
FROM orders FINAL
ORDER BY mandate, order_id
SETTINGS max_block_size = 16
