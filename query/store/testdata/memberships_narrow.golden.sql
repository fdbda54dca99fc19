-- What the sources of visible legacy orders say about some items. Table
-- orders, key (mandate, order_id).
SELECT order_id, member.item AS item, member.sites AS sites
FROM (
    SELECT order_id, memberships
    FROM orders FINAL
    WHERE mandate = {mandate:UInt64}
  AND order_id IN {orders:Array(UInt64)}
      AND legacy AND order_id IN {wanted:Array(UInt64)}
)
ARRAY JOIN memberships AS member
WHERE member.item IN {items:Array(UInt64)}
ORDER BY order_id, item

-- values
-- items = [5,6]
-- mandate = 7
-- orders = [1,2]
-- sites = ['a.example','b.example']
-- version = 3
-- wanted = [2,9]
