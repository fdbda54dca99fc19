-- What the sources of visible legacy orders say about some items. Table
-- orders, key (mandate, order_id).
SELECT order_id, member.item AS item, member.sites AS sites
FROM (
    SELECT order_id, memberships
    FROM orders FINAL
    WHERE mandate = {mandate:UInt64}
{{- template "order_filter" . }}
      AND legacy AND order_id IN {wanted:Array(UInt64)}
)
ARRAY JOIN memberships AS member
WHERE member.item IN {items:Array(UInt64)}
ORDER BY order_id, item
