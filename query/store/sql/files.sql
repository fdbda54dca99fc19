{{- /* The exports or imports of one order, or both of the wanted ones. Tables file_jobs and file_archives, whose keys begin with these. */ -}}
{{- define "files_of" -}}
mandate = {mandate:UInt64} AND {{if .Orders}}direction IN ('export', 'import') AND order_id IN {wanted:Array(UInt64)}{{else}}direction = {direction:String} AND order_id = {order:UInt64}{{end}}
{{- if not .AllOrders }} AND order_id IN {orders:Array(UInt64)}{{ end }}
{{- end -}}
