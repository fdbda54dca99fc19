-- The records in force from a range of places in the stream CATALOG, and the
-- subject that each has there, as event.Event.Subject forms it.
SELECT version, concat('catalog.site.', replaceAll(site, '.', '=')) AS subject FROM sites FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.item.', item) FROM items FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.mandate.', mandate) FROM mandates FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.account.', mandate, '.', account) FROM accounts FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.order.', mandate, '.', order_id) FROM orders FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.referencePrices.', mandate, '.', item) FROM reference_prices FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.customerData.', mandate, '.', item) FROM customer_data FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.', direction, '.', mandate, '.', order_id, '.', file_job) FROM file_jobs FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL SELECT version, concat('catalog.', direction, 'Archive.', mandate, '.', order_id, '.', archive) FROM file_archives FINAL WHERE version BETWEEN {first:UInt64} AND {last:UInt64}
