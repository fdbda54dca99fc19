-- Visible orders by id, without their items, sites and memberships. Table
-- orders, key (mandate, order_id).
SELECT order_id, alias, name, active, created_at, interval_minutes, last_run_at, next_run_at, counters, legacy
FROM orders FINAL
WHERE mandate = {mandate:UInt64}
  AND order_id > {after:UInt64}
  AND ({order:UInt64} = 0 OR order_id = {order:UInt64})
  AND ({alias:String} = '' OR alias = {alias:String})
ORDER BY order_id
LIMIT {limit:UInt64}

-- values
-- after = 4
-- alias = 
-- limit = 101
-- mandate = 7
-- order = 0
-- version = 3
