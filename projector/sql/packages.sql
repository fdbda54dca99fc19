-- How many items each mandate's package holds, by key.
SELECT mandate, max_items, version
FROM mandates FINAL
ORDER BY mandate
