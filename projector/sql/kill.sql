-- Ends them; they are asked to end and do so when they can.
KILL QUERY
WHERE startsWith(query_id, '{prefix}')
  AND toUInt64OrZero(splitByChar('-', query_id)[2]) <= {fence}
  AND current_database = currentDatabase()
ASYNC
