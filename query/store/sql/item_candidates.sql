-- Items of the mandate's scope that match identifiers, by id, whether or not
-- the account sees them; of a category, such as it sees. Tables items (skip
-- indexes on identifiers) and scope_pairs, key (mandate, version, item, site).
SELECT item
FROM items FINAL
WHERE item > {after:UInt64}
  AND ({item:UInt64} = 0 OR item = {item:UInt64})
  AND (empty({eans:Array(String)}) OR ean IN {eans:Array(String)})
  AND ({pzn:String} = '' OR pzn = {pzn:String})
  AND ({asin:String} = '' OR asin = {asin:String})
  AND ({asin_locale:String} = '' OR asin_locale = {asin_locale:String})
  AND item IN (
      SELECT item
      FROM scope_pairs
      WHERE mandate = {mandate:UInt64} AND {{template "version" .}} AND item > {after:UInt64}
  )
{{- if .Category}}
  AND item IN (
      SELECT item
      FROM ({{template "categories" .}})
  )
{{- end}}
ORDER BY item
LIMIT {limit:UInt64}
