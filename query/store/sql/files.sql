{{- /* The exports or imports of one order. Tables file_jobs and file_archives, whose keys begin with these. */ -}}
{{- define "files_of" -}}
mandate = {mandate:UInt64} AND direction = {direction:String} AND order_id = {order:UInt64}
{{- if not .AllOrders }} AND order_id IN {orders:Array(UInt64)}{{ end }}
{{- end -}}
