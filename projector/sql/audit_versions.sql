-- The places in the stream CATALOG of all records that the tables hold.
SELECT version FROM sites FINAL
UNION ALL SELECT version FROM items FINAL
UNION ALL SELECT version FROM mandates FINAL
UNION ALL SELECT version FROM accounts FINAL
UNION ALL SELECT version FROM orders FINAL
UNION ALL SELECT version FROM reference_prices FINAL
UNION ALL SELECT version FROM customer_data FINAL
UNION ALL SELECT version FROM file_jobs FINAL
UNION ALL SELECT version FROM file_archives FINAL
