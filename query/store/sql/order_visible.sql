-- Whether a caller sees an order. Table orders, key (mandate, order_id).
SELECT count() > 0
FROM orders FINAL
WHERE mandate = {mandate:UInt64} AND order_id = {order:UInt64}
{{- if not .AllOrders }} AND order_id IN {orders:Array(UInt64)}{{ end }}
